"""Decisions of linear agents: the arm of the greatest score, by widths or by drawn parameters."""

from __future__ import annotations

import math

from fedbandits._compile import inlined
from fedbandits._typing import Floats32
from fedbandits.learners.kernels.linucb import (
    DrawBuffers,
    ScoreBuffers,
    best_arm,
    draw_scores,
    score_arms,
)
from fedbandits.privacy.kernels import hold_contexts


@inlined
def choose_arm(
    features: Floats32, theta: Floats32, width: Floats32, tie: int, most: float, scores: Floats32,
    buffers: ScoreBuffers,
) -> int:  # fmt: skip
    """Choose the arm of the greatest score; features are held to L only if scores are no numbers.

    Parameters
    ----------
    features : (d, arms) float32, or (d, 1) with a model an arm
        The decision set; contexts beyond L are cut down in place where a score needs it.
    theta, width : float32
        Of a view, see :func:`.views.refresh_view`. Not the view itself: to hand over that many
        arrays costs more than a decision.
    tie : int
        The first of equals.
    most : float
        L, or infinity where contexts must not be clipped.
    scores : (arms,) float32
        Receives the scores.

    Returns
    -------
    int
        The arm; -1 if scores are not numbers.
    """
    score_arms(features, theta, width, scores, buffers)
    arm = best_arm(scores, tie)
    if arm < 0 and most < math.inf:
        hold_contexts(features, most)
        score_arms(features, theta, width, scores, buffers)
        arm = best_arm(scores, tie)
    return arm


@inlined
def choose_by_draw(
    features: Floats32, theta: Floats32, width: Floats32, tie: int, most: float, scores: Floats32,
    draw: DrawBuffers,
) -> int:  # fmt: skip
    """Choose the arm of the greatest score under drawn parameters (Thompson sampling).

    Parameters
    ----------
    features, theta, width, tie, most, scores
        See :func:`choose_arm`.
    draw : DrawBuffers
        The normals of this decision, and buffers.

    Returns
    -------
    int
        The arm; -1 if scores are not numbers.
    """
    draw_scores(features, theta, width, scores, draw)
    arm = best_arm(scores, tie)
    if arm < 0 and most < math.inf:
        hold_contexts(features, most)
        draw_scores(features, theta, width, scores, draw)
        arm = best_arm(scores, tie)
    return arm
