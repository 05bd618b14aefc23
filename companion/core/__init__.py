"""Foundations used by all other packages. It imports no other package of the project.

- `errors`, `clock`, `files`, `messages`, `names`: what every part of a service needs.
- `grid`, `kit`, `drawings`, `event_cues`: what lies on a table, and how it looks and sounds.
- `i18n`, `catalogue_file`: sentences for people, and their translations.
- `config`, `resources`, `network`, `command_line`, `log_fields`: settings and the machine.
- `ports`: interfaces between the table and its adapters.
"""
