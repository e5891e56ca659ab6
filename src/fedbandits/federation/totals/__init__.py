"""Secure sums: nobody sees more than the total of all that agents release.

Every agent sends the controller what has come since its newest release that is in a total, behind
one mask for each helper. The controller says who is in the next sum, and every helper answers with
the sum of these members' masks. What is left is the total. Only the controller and *all* helpers
together could see one agent's release. No system is known here: numbers go in, a total comes out.

* :mod:`~.plan`: what all parties go by, and what they bring;
* :mod:`~.messages`, :mod:`~.statements`: what they send, and what a pair says to one another;
* :mod:`~.agreement`: digests of totals, by which it is found out if they differ;
* :mod:`~.keys`: keys of single messages, and how long they are kept;
* :mod:`~.sender`: an agent's messages, and what became of them;
* :mod:`~.reports`: what they tell their own operators;
* :mod:`~.controller`, :mod:`~.helper`: whole parties.
"""
