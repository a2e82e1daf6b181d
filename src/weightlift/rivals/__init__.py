"""Other networks that the rows cannot exclude: whether some exist, and which."""

from weightlift.rivals.finding import Finding, Outcome

__all__ = ["Finding", "Outcome"]
