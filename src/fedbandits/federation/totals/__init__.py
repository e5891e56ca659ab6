"""Secure sums: nobody sees more than the total of all agents' releases.

Every agent sends the controller its change since its newest release in a total, behind one mask for
each helper. The controller names the members of the next sum, and every helper answers with the sum
of these members' masks. The difference is the total. Only the controller and *all* helpers together
could see one agent's release. No system is known here: numbers go in, a total comes out.

* :mod:`~.plan`: the public plan of all parties, and each party's secrets;
* :mod:`~.messages`, :mod:`~.statements`: messages, and statements between a pair of parties;
* :mod:`~.agreement`: digests of totals, by which parties detect differing totals;
* :mod:`~.keys`: keys of single messages, and their erasure;
* :mod:`~.sender`: an agent's messages, and their fates;
* :mod:`~.reports`: reports of parties to their own operators;
* :mod:`~.controller`, :mod:`~.helper`: whole parties.
"""
