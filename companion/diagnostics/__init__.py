"""Diagnosis: what works on this machine, what does not, and what to do about it.

- `probes`: facts about the machine, such as its temperature.
- `machine_checks`, `network_checks`: judge these facts and return findings.
- `findings`: what a finding is, its grades, and the health of the service.
- `own_pages`: requests to the companion that runs on this machine.

May import everything below: `core` up to `archive` and `printing`, not `maintenance`.
"""
