"""The contract suites: checks that every environment, learner and system must pass.

This project's tests call the checks for all registered names. Authors of further environments,
learners and systems call them too. A check is a function of one argument that raises
AssertionError; no test runner is needed. With pytest::

    import pytest
    import coins  # registers Coins, an environment, and Tosser, a learner
    from fedbandits.testing import applications, environments, learners, systems

    @pytest.mark.parametrize("check", environments.CHECKS)
    def test_the_coins(check):
        check(coins.Coins(agents=3))

    SUITES = (learners, systems, applications)

    @pytest.mark.parametrize("check", [check for suite in SUITES for check in suite.CHECKS])
    def test_the_tosser(check):
        check("tosser")

=========================== ======================== =============================================
suite                       a check takes            for
=========================== ======================== =============================================
``environments.CHECKS``     an environment           every environment
``learners.CHECKS``         a preset, or the class   every learner in plain Python
``systems.CHECKS``          a preset                 every system, and every learner
``applications.CHECKS``     a preset                 the same, if applications can ask its parties
``deployed_systems``        a preset and a folder    the same, as members of a federation
=========================== ======================== =============================================

Systems that plan from facts of a new kind need a world to be tested in:
:func:`.worlds.register_small_world`.
"""

from __future__ import annotations

import pkgutil
import sys

if (pytest := sys.modules.get("pytest")) is not None:
    # So that a failing check shows the compared values. The call must come before the imports.
    _checks = (f"{__name__}.{module.name}" for module in pkgutil.iter_modules(__path__))
    pytest.register_assert_rewrite(*_checks)
