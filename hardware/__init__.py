"""The hardware of the table except the camera: panel, system lamp, and the machine's voice.

A panel is two pads of buttons and lamps, a buzzer and the table button. Which pin each part has is
in the settings: `PanelSettings` in `companion.core.config`.

Three modules are pure:

- `cues`: the language of lamps and tones.
- `cue_player`: decides what is shown and played at a moment.
- `debounce`: decides when a press of a button counts.

These modules are about the panel's pins:

- `pin_factory`: opens the machine's own pins.
- `wiring`: opens buttons, lamps and buzzer on their pins.
- `panel`: owns these devices and reads the buttons.
- `outputs`: drives lamps and buzzer in time.
- `simulated`: a panel on gpiozero's mock pins, and hands that press its buttons.

Four modules use the others, or stand alone:

- `power`: the table button as a key that switches the machine off.
- `check`: the owner's check of keys, lamps and tones.
- `lamp`: the system lamp, in a process of its own.
- `voice`: speaks sentences through `espeak-ng`.
"""
