"""Helpers: the sentences in a step of any game."""

from typing import Any

from companion.games.base import Step


def event_texts(step: Step[Any]) -> list[str]:
    """Return the sentences of a step's events."""
    return [event.text for event in step.events]


def stage_titles(step: Step[Any]) -> list[str]:
    """Return the titles of a step's stages."""
    return [stage.title for stage in step.stages]
