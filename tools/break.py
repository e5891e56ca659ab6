"""Break the code on purpose, one way after another, and show which test fails.

    python tools/break.py [NAME …] [--jobs N]      all of them by default

Each break changes one place in a copy of the sources: a sign, a missing root, noise that is drawn
and not added, a draw that is used twice. Then the tests run that must catch it, as `make test`
plays them: what is slow must not be needed. A break that no test catches ends the program with 1: a
mutant is loose. A place that is not there any more does too: whoever moves code moves its break
along.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parents[1]


class Break(NamedTuple):
    """One place that is changed, and the tests of which one must fail."""

    name: str
    file: str  # below src/fedbandits
    old: str
    new: str
    tests: tuple[str, ...]


BREAKS = (
    Break(
        "a verdict beside the second best that learns alone", "experiments/answers/rivals.py",
        "best = min(linear, key=", "best = max(linear, key=",
        ("tests/experiments/test_rivals.py",),
    ),
    Break(
        "an opponent that is compared with other parties", "experiments/answers/rivals.py",
        "slice(None) if self.places is None else self.places", "slice(None)",
        ("tests/experiments/test_rivals.py",),
    ),
    Break(
        "logistic regression in the world of another replicate",
        "experiments/opponents.py",
        "world, facts = environment.open(key)",
        "world, facts = environment.open(Key(key.low ^ 1, key.high))",
        ("tests/experiments/test_opponents.py",),
    ),
    Break(
        "a logistic fit without a prior", "learners/logistic.py",
        "weights * (rewards - chances)) - fitted", "weights * (rewards - chances))",
        ("tests/experiments/test_opponents.py",),
    ),
    Break(
        "a search that stops at its edge", "experiments/tuning.py",
        "        if race.leader == (scale, ridge):\n            return", "        return",
        ("tests/experiments/test_tuning.py",),
    ),
    Break(
        "a search that chooses on four replicates", "experiments/tuning.py",
        "if len(contested) < 2 or", "if True or",
        ("tests/experiments/test_tuning.py",),
    ),
    Break(
        "LinUCB on the rows as they are", "experiments/opponents.py",
        "environment=rows or world,", "environment=world,",
        ("tests/experiments/test_opponents.py",),
    ),
    Break(
        "numbers that are scaled by a tenth of their spread", "rows.py",
        "return centre - MOST_SPREADS * spread, centre + MOST_SPREADS * spread",
        "return centre - spread, centre + spread",
        ("tests/environments/test_spreads.py",),
    ),
    Break(
        "raw numbers that are taken for contexts", "systems/agents/application.py",
        "rows = _prepared(party.name, rows, prepared)", "pass",
        ("tests/deployment/test_raw_rows.py",),
    ),
    Break(
        "terms that hold what nobody has stated", "_checked.py",
        "{*struct.LATER_KEYS} - {*changed_fields(struct)}", "{*struct.LATER_KEYS} & set()",
        ("tests/deployment/test_raw_rows.py",),
    ),
    Break(
        "a common part of all rows that makes them long", "rows.py",
        "rows.var(axis=0, dtype=np.float64).sum()", "(rows.astype(np.float64) ** 2).mean(0).sum()",
        ("tests/environments/test_spreads.py",),
    ),
    Break(
        "a number that can be read in two ways", "environments/tables/cells.py",
        "and _decimals_shown(raw) != {sign}:", "and not _decimals_shown(raw):",
        ("tests/environments/test_number_formats.py",),
    ),
    Break(
        "numbers of nines among numbers", "environments/tables/formats.py",
        "np.isnan(cells) | np.isin(cells, [*self.numbers])", "np.isnan(cells)",
        ("tests/environments/test_other_files.py",),
    ),
    Break(
        "wrong propensities", "offline/estimates.py",
        "far: Bools = (distance > _ERRORS * np.asarray(error)) & (distance > _AWAY)",
        "far: Bools = distance > 1.0",
        ("tests/offline/test_estimates.py",),
    ),
    Break(
        "a share of the noise of too many parties", "privacy/shares.py",
        "total.scale / math.sqrt(honest)", "total.scale / honest",
        ("tests/privacy/test_shares.py",),
    ),
    Break(
        "own noise is taken out of a secure sum", "systems/agents/kernels/constants.py",
        "return self.own_view and self.step == 0.0", "return self.own_view",
        ("tests/contracts/test_drivers.py",),
    ),
    Break(
        "every share a tenth too quiet", "federation/exchange/outlet.py",
        "release_share(plan, step, state.released, exact, pattern, noise)",
        "release_share(msgspec.structs.replace(plan, scale=0.9 * plan.scale), step, "
        "state.released, exact, pattern, noise)",
        ("tests/systems/test_secure_audits.py",),
    ),
    Break(
        "noise for all parties of a sum instead of the honest ones", "systems/aggregation.py",
        "return self.least_parties - self.colluding", "return self.least_parties",
        ("tests/systems/test_secure_audits.py",),
    ),
    Break(
        "one number of a share without noise", "privacy/shares.py",
        "    return ContinualState(k, draws, state.sums), share",
        "    share[0] = running_sum[0] / step\n"
        "    return ContinualState(k, draws, state.sums), share",
        ("tests/systems/test_secure_audits.py",),
    ),
    Break(
        "noise that two shares have in common", "privacy/shares.py",
        "        draws[slot] = share - values\n",
        "        draws[slot] = share - values if k != 2 else draws[0]\n",
        ("tests/systems/test_secure_audits.py",),
    ),
    Break(
        "one number of a release without noise", "privacy/running_sum.py",
        "    return ContinualState(k, draws, sums), released",
        "    released[0] = running_sum[0]\n    return ContinualState(k, draws, sums), released",
        ("tests/systems/test_noisy_releases.py",),
    ),
    Break(
        "a draw that two releases have in common", "privacy/running_sum.py",
        "        draws[slot] = cover(noise, k, values)\n",
        "        draws[slot] = cover(noise, k, values) if k != 2 else draws[0]\n",
        ("tests/systems/test_noisy_releases.py",),
    ),
    Break(
        "a draw that is used twice", "privacy/secure_noise.py",
        "noise = np.array(self._taken(steps.size)).reshape(steps.shape)",
        "noise = np.resize(self._taken(1), steps.shape)",
        ("tests/systems/test_noisy_releases.py",),
    ),
    Break(
        "a report with a hundredth less noise", "systems/pfcb/roles/buyer.py",
        "draws[slot] = cover(noise, release, values)",
        "draws[slot] = 0.99 * cover(noise, release, values) + 0.01 * values",
        ("tests/systems/test_noisy_releases.py",),
    ),
    Break(
        "rows of clusters with a tenth less noise", "systems/fclub/roles.py",
        "running_sum.release_once(plan.deviation, exact",
        "running_sum.release_once(0.9 * plan.deviation, exact",
        ("tests/systems/test_noisy_releases.py",),
    ),
    Break(
        "one mask for all sums", "crypto/masks.py",
        "number.to_bytes(4, \"little\") + salt", "bytes(4) + salt",
        ("tests/crypto/test_masks.py",),
    ),
    Break(
        "a salt that does not depend on the numbers", "federation/totals/sender.py",
        "text + pack_words(increment))", "text)",
        ("tests/federation/totals/test_attacks.py", "tests/federation/totals/test_totals.py"),
    ),
    Break(
        "a chain of keys that can be gone back", "crypto/chains.py",
        "return hashlib.blake2b(key=key, digest_size=KEY_BYTES, person=_NEXT).digest()",
        "return key",
        ("tests/crypto/test_chains.py", "tests/federation/totals/test_keys.py"),
    ),
    Break(
        "no key is drawn for a message", "federation/totals/keys.py",
        "drawn = draw() if any(", "drawn = None if any(",
        ("tests/federation/totals/test_keys.py",),
    ),
    Break(
        "a helper keeps what it has handed over", "federation/totals/keys.py",
        "first[places] = 0", "first[places[:0]] = 0",
        ("tests/federation/totals/test_keys.py",),
    ),
    Break(
        "a helper opens messages for a key that it has erased", "federation/totals/helper.py",
        "        known &= state.keys.has(members)\n", "",
        ("tests/federation/totals/test_keys.py",),
    ),
    Break(
        "helpers do not vouch for their public keys", "federation/totals/statements.py",
        "_numbered(disputed) + public", "_numbered(disputed)",
        ("tests/federation/totals/test_retire.py",),
    ),
    Break(
        "agents do not see that totals were kept from them", "federation/totals/sender.py",
        "missed=state.missed + between", "missed=0",
        ("tests/federation/totals/test_false_totals.py",),
    ),
    Break(
        "an old backup of an agent confirms guesses of the next message",
        "federation/totals/keys.py",
        "message_key(own), public)", "message_key(forward(self.own, steps)), public)",
        ("tests/federation/totals/test_keys.py",),
    ),
    Break(
        "a store keeps the secrets that keys follow from", "deployment/hosting/batch.py",
        "        resources.erase_secrets()", "        pass",
        ("tests/deployment/test_erased_keys.py",),
    ),
    Break(
        "a store keeps the state that has used keys", "deployment/hosting/batch.py",
        "self._saves = self._saves or hosted.party.erased != self._erased", "pass",
        ("tests/deployment/test_erased_keys.py",),
    ),
    Break(
        "a log keeps used keys", "deployment/hosting/host.py",
        "            self.store.checkpoint()", "            pass",
        ("tests/deployment/test_erased_keys.py",),
    ),
    Break(
        "a log keeps used keys until something more is written", "deployment/storage/store.py",
        "            with self.begin():\n                pass\n", "",
        ("tests/deployment/test_erased_keys.py",),
    ),
    Break(
        "a helper opens a sum for two sets", "federation/totals/helper.py",
        "if request != state.request:", "if not request:",
        ("tests/federation/totals/test_helper_refusals.py",),
    ),
    Break(
        "a helper opens a sum of too few", "federation/totals/helper.py",
        "if 0 < len(members) < least:", "if 0 > len(members):",
        ("tests/federation/totals/test_helper_refusals.py",),
    ),
    Break(
        "one helper says who is left out", "federation/totals/controller.py",
        "state.unfit.any(axis=0)", "state.unfit[helper]",
        ("tests/federation/totals/test_checks.py",),
    ),
    Break(
        "persons at several agents share no noise", "privacy/person.py",
        "if one_noise or squares is None else", "if squares is None else",
        ("tests/systems/test_persons.py",),
    ),
    Break(
        "parties with one noise are priced by a root", "privacy/gaussian.py",
        "return math.fsum(mus) if one_noise else compose(mus)", "return compose(mus)",
        ("tests/contracts/test_one_noise.py",),
    ),
    Break(
        "secure sums do not say that there is one noise", "systems/secure_claim.py",
        "        one_noise=True,\n", "        one_noise=False,\n",
        ("tests/contracts/test_one_noise.py",),
    ),
    Break(
        "buyers of a secure sum have noise of their own", "systems/pfcb/claim.py",
        '"from one producer, by whichever buyers,", "producers"',
        '"from one producer", "producers and buyers"',
        ("tests/contracts/test_one_noise.py",),
    ),
    Break(
        "a page that takes text for markup", "experiments/report/pages.py",
        "autoescape=True,", "autoescape=False,",
        ("tests/experiments/test_report.py",),
    ),
    Break(
        "an officer is told of noise that nobody has", "experiments/report/officer.py",
        "one_noise=claim.one_noise", "one_noise=False",
        ("tests/contracts/test_one_noise.py",),
    ),
    Break(
        "ledgers of one federation have noise each", "privacy/ledger/statement.py",
        'noise=federation if claim.one_noise else ""', 'noise=""',
        ("tests/privacy/test_ledger.py",),
    ),
    Break(
        "a federation is known by its name alone", "deployment/hosting/known.py",
        "if not statement.noise or not is_of_party(connection):", "if True:",
        ("tests/deployment/test_renewed.py",),
    ),
    Break(
        "an agent believes the controller", "federation/totals/sender.py",
        "believed = confirmed and (included or own == state.base)",
        "believed = included or own == state.base",
        ("tests/federation/totals/test_retire.py",),
    ),
    Break(
        "digests of totals are not compared", "federation/totals/agreement.py",
        "or size < largest[taken.number]", "or size < 0",
        ("tests/federation/totals/test_false_totals.py",),
    ),
    Break(
        "an opening holds no digests together", "federation/totals/helper.py",
        "        if judged.differing.any():", "        if judged.at_fault < 0:",
        ("tests/federation/totals/test_false_totals.py",),
    ),
    Break(
        "the first of two equal groups is believed", "federation/totals/agreement.py",
        "or sizes[taken.number].count(size) > 1",
        "or (sizes[taken.number].count(size) > 1 and taken != stated[0])",
        ("tests/federation/totals/test_false_totals.py",),
    ),
    Break(
        "no digest is agreed on for later sums", "federation/totals/agreement.py",
        "sorted({*agreed, *newly_agreed})", "sorted({*newly_agreed})",
        ("tests/federation/totals/test_false_totals.py",),
    ),
    Break(
        "one member's digest stops a sum", "federation/totals/helper.py",
        "refused = judged.at_fault > self._plan.colluding", "refused = judged.at_fault > 0",
        ("tests/federation/totals/test_false_totals.py",),
    ),
    Break(
        "a few members' digest is agreed on", "federation/totals/agreement.py",
        "if taken.number and size > colluding", "if taken.number",
        ("tests/federation/totals/test_false_totals.py",),
    ),
    Break(
        "an agent acts on totals of a controller that lied to it", "federation/exchange/outlet.py",
        "message.releases[-1] and not sending.misled", "message.releases[-1]",
        ("tests/systems/test_feducb_secure.py",),
    ),
    Break(
        "a sum with nobody in it has a total of its own", "federation/totals/sender.py",
        "if contradicts and received in agreed:", "if contradicts:",
        ("tests/federation/totals/test_false_totals.py",),
    ),
    Break(
        "noise of missed shares is drawn when they are made", "federation/exchange/outlet.py",
        "self._draw_shares_ahead(state, sending.newest, noise)",
        "self._draw_shares_ahead(state, state.sending.newest, noise)",
        ("tests/systems/test_shares_drawn_ahead.py",),
    ),
    Break(
        "helpers confirm no digests of totals", "federation/totals/agreement.py",
        "_packed(counts) + agreed", "_packed(counts)",
        ("tests/federation/totals/test_false_totals.py",),
    ),
    Break(
        "sign of a residual", "systems/agents/kernels/views.py",
        "residual -= view.estimate[m, i] * context[i]",
        "residual += view.estimate[m, i] * context[i]",
        ("tests/systems/test_feducb_simulation.py",),
    ),
    Break(
        "root of the radius", "learners/kernels/confidence.py",
        "noise_scale * math.sqrt(max(log_term + log_det, 0.0)) + bias",
        "noise_scale * max(log_term + log_det, 0.0) + bias",
        ("tests/learners/test_confidence.py",),
    ),
    Break(
        "own records twice, beside the sum of all", "systems/feducb/kernels.py",
        "others[m, i] = released[m * size + i] - own", "others[m, i] = released[m * size + i]",
        ("tests/systems/test_deviations.py",),
    ),
    Break(
        "noise that counts by its root", "learners/kernels/released_sum.py",
        "guess / (guess + noise / reading.reward)", "guess / (guess + noise**0.5 / reading.reward)",
        ("tests/learners/test_released_sum.py",),
    ),
    Break(
        "eigenvalues that are driven further apart", "learners/kernels/released_sum.py",
        "values[i] - 2.0 * noise * repulsion", "values[i] + 2.0 * noise * repulsion",
        ("tests/learners/test_spectrum_of_sums.py",),
    ),
    Break(
        "noise of a Gram matrix that counts half", "learners/kernels/released_sum.py",
        "(share + 2.0 * _derivative(values, guesses, i)) / d",
        "(share + _derivative(values, guesses, i)) / (2.0 * d)",
        ("tests/learners/test_released_sum.py",),
    ),
    Break(
        "an edge of noise without its root", "learners/kernels/released_sum.py",
        "2.0 * math.sqrt(noise * d)", "2.0 * noise * d",
        ("tests/learners/test_spectrum_of_sums.py",),
    ),
    Break(
        "a large eigenvalue that is drawn to the mean", "learners/kernels/released_sum.py",
        "allowed = max(spread - (d * (d + 1) - 2.0) * noise, 0.0)",
        "allowed = max(spread - (d * (d + 1) - 2.0) * noise, 0.0) ** 2 / spread",
        ("tests/learners/test_spectrum_of_sums.py",),
    ),
    Break(
        "evidence without half of the logarithm of a determinant",
        "learners/kernels/partial_pooling.py",
        "log = 0.5 * surprise / variance - 0.5 * volume", "log = 0.5 * surprise / variance",
        ("tests/learners/test_partial_pooling.py",),
    ),
    Break(
        "weights of hypotheses the other way round", "learners/kernels/partial_pooling.py",
        "averaged[i] = fma(weights[k], estimates[k, i], averaged[i])",
        "averaged[i] = fma(weights[weights.size - 1 - k], estimates[k, i], averaged[i])",
        ("tests/learners/test_partial_pooling.py",),
    ),
    Break(
        "the likeliest hypothesis counts least", "systems/agents/kernels/own_views.py",
        "weights = normalised(logs)", "weights = normalised(-logs)",
        ("tests/systems/test_deviations.py",),
    ),
    Break(
        "a member that lies is believed, whatever own records say",
        "systems/agents/kernels/own_views.py", "logs[k] += log", "logs[k] -= 1e3 * k",
        ("tests/systems/test_lying_member.py",),
    ),
    Break(
        "a large ridge parameter without evidence", "learners/kernels/partial_pooling.py",
        "0.0 if k else math.log(_ALONE)", "math.log(_ALONE) if k else 0.0",
        ("tests/learners/test_partial_pooling.py",),
    ),
    Break(
        "a party that learns rewards as they come", "systems/agents/linear_agent.py",
        "as_reward(event.outcome, place) - constants.centre", "as_reward(event.outcome, place)",
        ("tests/systems/test_reward_centre.py",),
    ),
    Break(
        "noise for centred rewards, and records without a centre", "systems/agents/plan.py",
        "reward_bound=float(config.reward_bound),", "reward_bound=1.0,",
        ("tests/systems/test_reward_centre.py",),
    ),
    Break(
        "a range whose end is beyond it", "systems/agents/plan.py",
        "half = math.nextafter(half, math.inf)", "break",
        ("tests/systems/test_reward_centre.py",),
    ),
    Break(
        "residuals that forget the record", "systems/agents/kernels/own_views.py",
        "residuals[m, 1] += residual * residual * shrink", "residuals[m, 1] += residual * residual",
        ("tests/systems/test_deviations.py",),
    ),
    Break(
        "a prior that narrows with the noise of rewards", "systems/agents/kernels/own_views.py",
        "learning.base * variance / bound", "learning.base",
        ("tests/systems/test_deviations.py",),
    ),
    Break(
        "parameters that are drawn once for all rounds", "systems/agents/kernels/rounds.py",
        "fill_normal(scratch.draw.normals, key, agent, round_, _POSTERIOR)",
        "fill_normal(scratch.draw.normals, key, agent, 1, _POSTERIOR)",
        ("tests/systems/test_deviations.py",),
    ),
    Break(
        "root of a drawn covariance", "learners/kernels/linucb.py",
        "draw.normals[k] * math.sqrt(scale)", "draw.normals[k] * scale",
        ("tests/learners/test_linear_draws.py",),
    ),
    Break(
        "a variance that is not an arm's own", "learners/kernels/index_rules.py",
        "min(0.25, variance)", "0.25", ("tests/learners/test_upper_bounds.py",),
    ),
    Break(
        "root of a release's deviation", "privacy/kernels.py",
        "return scale * math.sqrt(total)", "return scale * total",
        ("tests/privacy/test_continual.py",),
    ),
    Break(
        "noise of one agent instead of all", "systems/agents/kernels/pools.py",
        "for agent in range(constants.agents):\n        variance += noise_variance",
        "for agent in range(1):\n        variance += noise_variance",
        ("tests/systems/test_feducb_budgets.py", "tests/systems/test_feducb_simulation.py"),
    ),
    Break(
        "noise off in a simulated release", "systems/agents/kernels/rounds.py",
        "if constants.mechanism == NONE:", "if constants.mechanism != 99:",
        ("tests/systems/test_feducb_simulation.py",),
    ),
    Break(
        "noise off in a real release", "privacy/secure_noise.py",
        "covered: Floats = (steps + noise) / _DEVIATION",
        "covered: Floats = (steps + 0.0 * noise) / _DEVIATION",
        ("tests/privacy/test_secure_noise.py",),
    ),
    Break(
        "the same noise twice", "privacy/secure_noise.py",
        "taken.append(self._ahead.popleft())", "taken.append(self._ahead[0])",
        ("tests/privacy/test_secure_noise.py",),
    ),
    Break(
        "the same whole noise twice", "privacy/secure_noise.py",
        "return self._whole[deviation].popleft()", "return self._whole[deviation][0]",
        ("tests/privacy/test_process_check.py",),
    ),
    Break(
        "noise of a parent process", "privacy/secure_noise.py",
        "            self._ahead.clear()\n", "",
        ("tests/privacy/test_secure_noise.py",),
    ),
    Break(
        "half the noise", "privacy/gaussian.py",
        "lambda mu: delta_of(epsilon, mu) <= delta",
        "lambda mu: delta_of(epsilon, mu / 2.0) <= delta",
        ("tests/privacy/test_gaussian.py",),
    ),
    Break(
        "a step of the ledger drawn twice", "privacy/ledger/accounts.py",
        "    if drawn is not None:\n", "    if False:\n",
        ("tests/privacy/test_ledger.py",),
    ),
    Break(
        "a budget that is overspent", "privacy/ledger/accounts.py",
        "reached > budget * ROUNDING", "reached > 2.0 * budget * ROUNDING",
        ("tests/privacy/test_ledger.py",),
    ),
    Break(
        "a false alarm after an interrupted mark", "privacy/ledger/files.py",
        "        write_meta(connection, LOG, WHOLE)", "        pass",
        ("tests/privacy/test_ledger_files.py",),
    ),
    Break(
        "a record that counts twice", "systems/agents/kernels/views.py",
        "    if counts:\n        add_record(statistic, m, context, reward, learning.rounding)\n",
        "    if counts:\n        add_record(statistic, m, context, reward, learning.rounding)\n"
        "        add_record(statistic, m, context, reward, learning.rounding)\n",
        ("tests/systems/test_feducb_simulation.py",),
    ),
    Break(
        "one record of a person too many", "systems/agents/kernels/rounds.py",
        "visits[person] >= most", "visits[person] > most",
        ("tests/systems/test_persons.py",),
    ),
    Break(
        "swapped index of a packed statistic", "learners/kernels/ridge.py",
        "fma(xi, context[j], rounding) - rounding\n            position += 1",
        "fma(xi, xi, rounding) - rounding\n            position += 1",
        ("tests/learners/test_ridge.py",),
    ),
    Break(
        "sums that are not on the grid", "learners/kernels/ridge.py",
        "statistic[model, position + i] += fma(reward, context[i], rounding) - rounding",
        "statistic[model, position + i] += reward * context[i]",
        ("tests/learners/test_ridge.py", "tests/privacy/test_rounding.py"),
    ),
    Break(
        "an array that nobody gives back", "_compile/dispatch.py",
        "if bare and any(map(_has_arrays, choice[0].cases)):", "if not choice[0].cases:",
        ("tests/test_held_memory.py",),
    ),
    Break(
        "an array whose layout is mistaken", "_compile/c_functions.py",
        "*value.shape, *value.strides", "*value.strides, *value.shape",
        ("tests/test_compile.py",),
    ),
    Break(
        "a joiner that begins in the first round", "environments/kernels/worlds.py",
        "missed = max(0, joins[agent] - round_)", "missed = 0",
        ("tests/environments/test_first_rounds.py",),
    ),
    Break(
        "a world in Python whose errors are lost", "systems/agents/batches.py",
        "            world.check()\n", "            pass\n",
        ("tests/environments/test_python.py",),
    ),
    Break(
        "everybody has the parameter of the first agent", "environments/kernels/linear.py",
        "row_of_agent = agent if world.theta.shape[0] > 1 else 0", "row_of_agent = 0",
        ("tests/environments/test_spread.py",),
    ),
    Break(
        "all classes are divided alike", "environments/shards.py",
        "key, 1 + label, 0", "key, 1, 0",
        ("tests/environments/test_shards.py",),
    ),
    Break(
        "skewed shards are taken for even ones", "environments/shards.py",
        "1 if isinstance(dealing, Skewed) and agents > 1 else rows // agents", "rows // agents",
        ("tests/environments/test_shards.py",),
    ),
    Break(
        "drift to the wrong world", "environments/kernels/drift.py",
        "return (1.0 - share) * before + share * after",
        "return share * before + (1.0 - share) * after",
        ("tests/environments/test_drift.py",),
    ),
    Break(
        "a round less of Philox", "random.py",
        "for _ in range(10)", "for _ in range(9)",
        ("tests/test_random.py",),
    ),
    Break(
        "Paillier without randomness", "crypto/paillier.py",
        "_encrypt(self.n, message, _random_unit(self.n))", "_encrypt(self.n, message, 1)",
        ("tests/crypto/test_paillier.py",),
    ),
    Break(
        "a packet that is not bound to its position", "crypto/aead.py",
        "map(self._encrypt, nonces, payloads, positions)",
        "map(self._encrypt, nonces, payloads, [positions[0]] * len(positions))",
        ("tests/crypto/test_aead.py",),
    ),
    Break(
        "an audit of two servers", "systems/servers/audit.py",
        "SERVERS, USERS, DIMENSION, ITEMS = 4, 8, 2, 2",
        "SERVERS, USERS, DIMENSION, ITEMS = 2, 4, 2, 2",
        ("tests/privacy/test_room_of_others.py",),
    ),
    Break(
        "an audit of two buyers", "systems/pfcb/audit/__init__.py",
        "BUYERS, PRODUCERS = 4, 2", "BUYERS, PRODUCERS = 2, 2",
        ("tests/privacy/test_room_of_others.py",),
    ),
    Break(
        "one peer is enough", "deployment/delivery/delivery.py",
        "self._reached = vouching > len(witnesses) or", "self._reached = vouching > 0 or",
        ("tests/deployment/test_old_backups.py",),
    ),
    Break(
        "as many messages are the same ones", "deployment/delivery/exchange.py",
        "elif mark is not None and mark != hello.mark:", "elif mark is None:",
        ("tests/deployment/test_old_backups.py",),
    ),
    Break(
        "what leaves is written down in the store alone", "deployment/hosting/batch.py",
        "self.store.left.write(self._leaves)", "self._leaves = None",
        ("tests/deployment/test_old_backups.py",),
    ),
    Break(
        "another request's answer", "client/calls.py",
        "if response.headers.get(KEY) != key and", "if False and",
        ("tests/deployment/test_client_trouble.py",),
    ),
    Break(
        "another key for each try", "client/clients.py",
        "key=call.key or secrets.token_hex(16))", "key=call.key)",
        ("tests/deployment/test_client_trouble.py",),
    ),
    Break(
        "another's outcome taken for one's own", "client/clients.py",
        "if self._unanswered and isinstance(", "if isinstance(",
        ("tests/deployment/test_client_trouble.py",),
    ),
    Break(
        "unpacked without an end", "environments/tables/files.py",
        "with opened(io.BytesIO(data)) as file:\n                return file.read(size)",
        "with opened(io.BytesIO(data)) as file:\n                return file.read()[:size]",
        ("tests/environments/test_other_files.py",),
    ),
    Break(
        "connections of another event loop", "client/clients.py",
        "if self._http is None or self._of != here:", "if self._http is None:",
        ("tests/deployment/test_client_trouble.py",),
    ),
    Break(
        "a request that comes again and is another one", "deployment/hosting/batch.py",
        "if known is not None:", "if False:",
        ("tests/deployment/test_client_trouble.py",),
    ),
    Break(
        "rounds that were missed, at any price", "deployment/hosting/clock.py",
        "if told or not self._was_away:", "if True:",
        ("tests/deployment/test_clock.py",),
    ),
    Break(
        "a release for each round that is overdue", "deployment/hosting/clock.py",
        "return max(self.done + 1, self._elapsed())", "return self.done + 1",
        ("tests/deployment/test_clock.py",),
    ),
    Break(
        "a bit that all other arms take for theirs", "learners/kernels/rule_handles.py",
        "i == chosen", "i != chosen",
        ("tests/learners/test_index_rules.py",),
    ),
    Break(
        "scores that share one arm's draws", "learners/kernels/rule_handles.py",
        "Key(keys[i, 0], keys[i, 1])", "Key(keys[0, 0], keys[0, 1])",
        ("tests/learners/test_index_rules.py",),
    ),
    Break(
        "a loop that forgets what rules keep", "systems/samba/kernels.py",
        "    note_chosen(rule, iteration, arm)\n", "",
        ("tests/systems/test_samba_silent.py",),
    ),
    Break(
        "increments without masks", "crypto/masks.py",
        "stream.update_into(_zeros(len(raw)), raw)", "raw[:] = bytes(len(raw))",
        ("tests/systems/test_sums_audit.py",),
    ),
    Break(
        "masks that both helpers can make", "crypto/masks.py",
        "return cls(*(derive_key(secret, f\"{label} {purpose}\") for purpose in cls._fields))",
        "return cls(derive_key(bytes(32), f\"{terms} {agent}\"), secret, secret)",
        ("tests/systems/test_sums_audit.py",),
    ),
    Break(
        "sums of two, and noise for more", "systems/secure_sums.py",
        "least_parties=secure.least_parties,", "least_parties=2,",
        ("tests/systems/test_sums_audit.py",),
    ),
    Break(
        "one helper where the claim counts two", "systems/secure_sums.py",
        "helpers=secure.helpers,", "helpers=1,",
        ("tests/systems/test_sums_audit.py",),
    ),
    Break(
        "one secret for all members", "systems/application.py",
        "return derive_key(secret, f\"{self.name} {party}\") if self.each else secret",
        "return secret",
        ("tests/systems/test_sums_audit.py",),
    ),
    Break(
        "a few parties of an audit whose sums are always of nearly all", "systems/aggregation.py",
        "return SecureSum(aggregation.helpers, least, colluding)",
        "return SecureSum(aggregation.helpers)",
        ("tests/systems/test_aggregation.py",),
    ),
    Break(
        "a hybrid that takes its own noise out", "federation/exchange/outlet.py",
        "released.made: keep(np.zeros(0))}",
        "released.made: keep(np.zeros(0))._replace(statistic=(step * words).reshape("
        "state.statistic.shape))}",
        ("tests/systems/test_sums_audit.py",),
    ),
    Break(
        "own noise is taken out of a total", "federation/exchange/outlet.py",
        "self.mechanism.step * words.astype(np.float64)",
        "self.mechanism.step * (words - state.sending.pending_values).astype(np.float64)",
        ("tests/systems/test_sums_audit.py",),
    ),
    Break(
        "one number masks a whole increment", "crypto/masks.py",
        "stream.update_into(_zeros(len(raw)), raw)",
        "stream.update_into(_zeros(len(raw)), raw)\n        out[:] = out[0]",
        ("tests/systems/test_sums_audit.py",),
    ),
    Break(
        "a helper that opens a sum once more, for others", "federation/totals/helper.py",
        "if request != state.request:", "if False:",
        ("tests/systems/test_sums_audit.py",),
    ),
    Break(
        "a member that believes the controller", "federation/totals/sender.py",
        "confirmed = same(total.confirmations, self._expected(state, total, salt))",
        "confirmed = True",
        ("tests/systems/test_sums_audit.py",),
    ),
    Break(
        "a member that was away, and forgets what it drew", "federation/exchange/outlet.py",
        "release_share(plan, step, state.released, exact, pattern, noise)",
        "release_share(plan, step, state.released if state.sending.newest == state.sending.base "
        "else state.released._replace(draws=0.0 * state.released.draws), exact, pattern, noise)",
        ("tests/systems/test_sums_audit.py",),
    ),
    Break(
        "a share at the price of the whole noise", "systems/secure_claim.py",
        "claim.mu * math.sqrt(totals.honest)", "claim.mu",
        ("tests/systems/test_sums_audit.py",),
    ),
    Break(
        "earlier federations had nobody else in them", "deployment/hosting/known.py",
        "return msgspec.structs.replace(statement, noise=UNKNOWN)", "return statement",
        ("tests/deployment/test_renewed.py",),
    ),
    Break(
        "the controller and the only helper at the price of sums", "systems/secure_claim.py",
        "_ALL_BUT_ONE[totals.helpers - 1]", "_ALL_BUT_ONE[1]",
        ("tests/contracts/test_one_noise.py",),
    ),
    Break(
        "no room for what whole draws cost", "privacy/shares.py",
        "_moved(needs, step) + by_cells", "_moved(needs, step)",
        ("tests/privacy/test_shares.py",),
    ),
    Break(
        "a person who comes once too often", "systems/shell.py",
        "visits < self._persons.most", "visits <= self._persons.most",
        ("tests/systems/test_visits_audit.py",),
    ),
    Break(
        "one generator a process, with one seed", "privacy/secure_noise.py",
        "_WORD = np.dtype(\"<u8\")",
        "_WORD = np.dtype(\"<u8\")\nsecrets.token_bytes = np.random.default_rng(7).bytes",
        ("tests/privacy/test_process_check.py",),
    ),
    Break(
        "one generator that forked processes have too", "privacy/secure_noise.py",
        "_WORD = np.dtype(\"<u8\")",
        "_WORD = np.dtype(\"<u8\")\nsecrets.token_bytes = np.random.default_rng().bytes",
        ("tests/privacy/test_process_check.py",),
    ),
)  # fmt: skip


def play(one: Break, cache: str) -> tuple[bool, str]:
    """Break a copy of the sources; whether a test failed, and which one or why not.

    Compiled kernels are filed in ``cache`` under their own text: breaks elsewhere share them.
    """
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder) / "src"
        shutil.copytree(ROOT / "src", copy, ignore=shutil.ignore_patterns("__pycache__"))
        file = copy / "fedbandits" / one.file
        text = file.read_text(encoding="utf-8") if file.exists() else ""
        if text.count(one.old) != 1:
            return False, f"{one.file} has {text.count(one.old)} such places: move the break along"
        file.write_text(text.replace(one.old, one.new), encoding="utf-8")
        own = os.environ | {"PYTHONPATH": str(copy), "XDG_CACHE_HOME": cache}
        command = ("-m", "pytest", "-x", "-q", "-n0", "-p", "no:cacheprovider")
        ended = subprocess.run(  # noqa: S603
            [sys.executable, *command, *one.tests],
            cwd=ROOT, env=own, capture_output=True, text=True, check=False,
        )  # fmt: skip
    failed = re.search(r"^(?:FAILED|ERROR) (\S+)", ended.stdout, re.MULTILINE)
    if ended.returncode == 1 and failed:
        return True, failed[1]
    return False, "no test failed" if ended.returncode == 0 else ended.stdout[-2000:]


def main() -> None:
    """Play the breaks that are named, or all of them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", help="breaks whose names hold one of these words")
    parser.add_argument("--jobs", type=int, default=2, help="breaks side by side (2)")
    options = parser.parse_args()
    wanted = [b for b in BREAKS if not options.names or any(n in b.name for n in options.names)]
    if not wanted:
        raise SystemExit(f"no such break; there are: {'; '.join(b.name for b in BREAKS)}")
    loose, began = [], time.monotonic()
    with tempfile.TemporaryDirectory() as cache, ThreadPoolExecutor(options.jobs) as workers:
        played = workers.map(partial(play, cache=cache), wanted)
        for one, (caught, told) in zip(wanted, played, strict=True):
            print(f"{'caught' if caught else 'LOOSE '} {one.name}: {told}", flush=True)
            loose += [] if caught else [one.name]
    print(f"{len(wanted) - len(loose)} of {len(wanted)} caught, {time.monotonic() - began:.0f} s")
    if loose:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
