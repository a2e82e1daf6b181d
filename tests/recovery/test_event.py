"""An event in words."""

import math

from weightlift.recovery import Event


def test_an_event_says_stage_risk_share_and_the_time_left():
    text = str(Event("search", 3, 1.5e-3, 0.25, 10.0, None))
    assert text == "search, start 3, best risk 1.5e-03, 25 % of the budget, at most 30 s left"


def test_before_anything_is_known_nothing_is_guessed():
    assert str(Event("moments", 0, math.inf, 0.0, 0.1, None)) == "moments, 0 % of the budget"
