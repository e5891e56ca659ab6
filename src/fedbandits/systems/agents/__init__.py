"""Linear agents: the plans, views, batches, parties and audits that their systems share.

A further system of linear agents brings its configuration and presets, a plan made by
:func:`.plan.plan_pooling`, compiled functions for its syncs, a loop on
:class:`.batches.BatchedReplicate`, and an agent on :class:`.linear_agent.LinearAgent` with one of
the exchanges of :mod:`fedbandits.federation.exchange`. See ``fedlinucb_async`` for a small one.
"""
