"""The panel: two pads of buttons, their lamps and a buzzer, on real pins or on gpiozero's mock
pins.

Three modules are pure: `cues` is the language of lamps and tones, `player` decides what is shown
and played at a moment, and `debounce` decides when a press counts. `wiring` opens the pins of the
settings, `panel` owns them and their threads, `pins` belongs to the Raspberry Pi, and `simulated`
presses mock pins. `Panel.problems` names what cannot be opened. The rest works without it.
"""
