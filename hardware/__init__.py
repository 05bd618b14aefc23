"""The panel: two pads of buttons, their lamps and a buzzer, on real pins or on gpiozero's mock
pins.

`cues` is the language of lamps and tones, `player` what of it shows and sounds at a moment,
`debounce` when a press counts: all three pure. `wiring` opens the pins, `panel` holds them and
their threads, `simulated` puts fingers on mock pins; `pins` are a Raspberry Pi's own. What the
panel cannot open it names in `Panel.problems`; the rest works.
"""
