"""The panel (two pads of buttons, their lamps, a buzzer, the table button), the system lamp and the
machine's voice.

Which pin each part has is in the settings: `PanelSettings` in `companion.core.config`. Three
modules are pure: `cues` is the language of lamps and tones, `cue_player` decides what is shown and
played at a moment, and `debounce` decides when a press counts. `wiring` opens buttons, lamps and
buzzer on their pins, `panel` owns them and reads the buttons, and `outputs` drives lamps and buzzer
in time. The pins themselves come from a `pin_factory`, or are gpiozero's mock pins, which
`simulated` presses.
"""
