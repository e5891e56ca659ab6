"""A budget that cannot be overspent.

A ledger keeps what each party has spent, in a database. It refuses a release that would cost more than is left.
"""

import fedbandits as fb
from fedbandits.ledger import GaussianRelease, Ledger, PrivacyClaim
from fedbandits.privacy import gaussian

claim = PrivacyClaim(
    unit="one patient's record",
    from_whom="everybody but the hospital",
    relation="replace-one",
    holds_for="interactive",
    epsilon=1.0,
    epsilon_contents=1.0,
    delta=1e-5,
    mu=gaussian.mu_of(1.0, 1e-5),
)
with Ledger.open("ledger.db", federation="hospitals") as ledger:
    with ledger.begin() as connection:
        ledger.open_account(connection, "north", claim, epsilon=1.0, delta=1e-5)
    for week in range(1, 10):
        event = GaussianRelease(1.0, 8.0)  # sensitivity, and standard deviation of the noise
        try:
            with ledger.begin() as connection:
                ledger.charge(connection, "north", f"week {week}", 1, event)
        except fb.errors.BudgetExceededError as refusal:
            print(refusal)
            break
        with ledger.read() as connection:
            statement = ledger.statement(connection, "north")
        print(f"week {week}: spent ε = {statement.spent_epsilon:.2f}")
