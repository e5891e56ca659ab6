"""Paillier encryption: sums of numbers that the adder cannot see.

The scheme of Paillier (1999, "Public-key cryptosystems based on composite degree residuosity
classes", section 4), with decryption by Chinese remaindering (section 7):
E(m) = gᵐ rⁿ mod n² with r uniform in Z*ₙ. The generator is g = n + 1, so gᵐ = 1 + mn. The
scheme is IND-CPA exactly if the decisional composite residuosity assumption holds, for every g: the
factor rⁿ hides gᵐ. The scheme is malleable on purpose: nothing here authenticates.

The parties are honest but curious, each on its own machine, so side channels are out of scope.
Encryption raises to the public exponent n and uses GMP's fast exponentiation; decryption happens
once a run and uses an exponentiation in constant time, which costs nothing noticeable. The other
arithmetic is not constant-time.
"""

from __future__ import annotations

import math
import operator
import secrets
from dataclasses import dataclass
from functools import cached_property, lru_cache

import gmpy2
from cryptography.hazmat.primitives.asymmetric import rsa

from fedbandits.errors import RemoteProtocolError

#: Least prime factor of a modulus, or the modulus's fourth root where the root is less.
_LEAST_FACTOR = 1 << 16
#: Lengths of n for :func:`generate`.
KEY_BITS = (2048, 3072, 4096)


class CiphertextError(RemoteProtocolError):
    """Bytes that cannot be a Paillier ciphertext under this key."""


@dataclass(frozen=True, repr=False)
class PublicKey:
    """Encrypts numbers, and adds encrypted numbers.

    Check a peer's modulus n: ``key.bits in KEY_BITS``. ValueError is raised if n is small, even,
    prime, a power, or has a small factor: anybody could then decrypt. The checks do not prove that
    n is the product of two large primes; only the owner knows.
    """

    n: int

    def __post_init__(self) -> None:
        if self.n < 15 or self.n % 2 == 0:
            raise ValueError("a Paillier modulus is an odd number of at least 15")
        _check_modulus(self.n)

    def __repr__(self) -> str:
        return f"PublicKey({self.bits} bits)"

    @property
    def bits(self) -> int:
        """Length of n."""
        return self.n.bit_length()

    @property
    def ciphertext_size(self) -> int:
        """Bytes of every ciphertext: enough for any number below n²."""
        return (2 * self.bits + 7) // 8

    def encrypt(self, message: int) -> bytes:
        """Return a fresh ciphertext of a message, big-endian and :attr:`ciphertext_size` long.

        Raises ValueError if the message is not in [0, n). The error does not show it.
        """
        message = operator.index(message)
        if not 0 <= message < self.n:
            raise ValueError(f"a message must lie in [0, n), n being {self.bits} bits long")
        return self._pack(_encrypt(self.n, message, _random_unit(self.n)))

    def add(self, *ciphertexts: bytes) -> bytes:
        """Return a ciphertext of the sum, modulo n, of the messages of all ciphertexts.

        Its randomness is the product of all their randomness, hence uniform if any factor is: the
        ciphertext tells the key's owner the sum and nothing else about the summands.

        Raises CiphertextError if a ciphertext is malformed, and ValueError if there is none: a
        constant would be no encryption of 0.
        """
        if not ciphertexts:
            raise ValueError("a sum needs at least one ciphertext")
        product = gmpy2.mpz(1)
        for ciphertext in ciphertexts:
            product = product * self._unpack(ciphertext) % self._square
        return self._pack(product)

    @cached_property
    def _square(self) -> gmpy2.mpz:
        return gmpy2.mpz(self.n) ** 2

    def _pack(self, ciphertext: gmpy2.mpz) -> bytes:
        return int(ciphertext).to_bytes(self.ciphertext_size, "big")

    def _unpack(self, ciphertext: bytes) -> gmpy2.mpz:
        size = self.ciphertext_size
        if len(ciphertext) != size:
            raise CiphertextError(f"a ciphertext is {size} bytes long, this is {len(ciphertext)}")
        number = gmpy2.mpz(int.from_bytes(ciphertext, "big"))
        if not 0 < number < self._square:
            raise CiphertextError("a ciphertext lies strictly between 0 and n²")
        if gmpy2.gcd(number, self.n) != 1:
            raise CiphertextError("a ciphertext has no factor in common with n")
        return number


@dataclass(frozen=True, repr=False, eq=False)
class PrivateKey:
    """Decrypts. Neither its text nor its errors show anything secret.

    p and q are two different odd primes with gcd(pq, (p - 1)(q - 1)) = 1, which primes of equal
    length always satisfy; ValueError is raised if they are not. Short ones are for tests;
    :func:`generate` makes real ones.
    """

    p: int
    q: int

    def __post_init__(self) -> None:
        if not (gmpy2.is_prime(self.p) and gmpy2.is_prime(self.q)):
            raise ValueError("a Paillier key needs two primes")
        if self.p == self.q:
            raise ValueError("a Paillier key needs two different primes")
        # Otherwise x → xⁿ is not one-to-one on Z*ₙ and decryption is not defined. Refuses 2, too.
        if math.gcd(self.p * self.q, (self.p - 1) * (self.q - 1)) != 1:
            raise ValueError("a Paillier key needs gcd(n, φ(n)) = 1")

    def __repr__(self) -> str:
        return f"PrivateKey({self.public_key.bits} bits)"

    @cached_property
    def public_key(self) -> PublicKey:
        """The key for all other parties."""
        return PublicKey(self.p * self.q)

    def decrypt(self, ciphertext: bytes) -> int:
        """Return a ciphertext's message, in [0, n); CiphertextError for a malformed ciphertext."""
        number = self.public_key._unpack(ciphertext)
        one, two = self._halves
        low, high = one.decrypt(number), two.decrypt(number)
        return int(low + self.p * ((high - low) * self._inverse % self.q))

    @cached_property
    def _halves(self) -> tuple[_Half, _Half]:
        return _Half(self.p, self.q), _Half(self.q, self.p)

    @cached_property
    def _inverse(self) -> gmpy2.mpz:
        return gmpy2.invert(self.p, self.q)


class _Half:
    """Decryption modulo a prime: m mod p = L(c^(p-1) mod p²) h, L(x) = (x - 1)/p.

    The constant h is 1 / L(g^(p-1)) mod p. With g = 1 + n the power is 1 + (p - 1)pq mod p², so
    L of it is (p - 1)q ≡ -q.
    """

    def __init__(self, prime: int, other: int) -> None:
        self._prime = gmpy2.mpz(prime)
        self._square = self._prime**2
        self._h = gmpy2.invert(-other, self._prime)

    def decrypt(self, number: gmpy2.mpz) -> gmpy2.mpz:
        power = gmpy2.powmod_sec(number, self._prime - 1, self._square)
        return (power - 1) // self._prime * self._h % self._prime


@lru_cache(maxsize=16)
def _check_modulus(n: int) -> None:
    """Refuse a modulus that anybody can factor at a glance."""
    if gmpy2.is_prime(n):
        raise ValueError("a Paillier modulus has two prime factors, this one is prime")
    if gmpy2.is_power(n):
        raise ValueError("a Paillier modulus has two different prime factors, this one is a power")
    bound = min(_LEAST_FACTOR, 1 << n.bit_length() // 4)
    if gmpy2.gcd(n, gmpy2.primorial(bound - 1)) != 1:
        raise ValueError(f"a Paillier modulus has no factor below {bound:,}")


def generate(bits: int = 3072) -> PrivateKey:
    """Generate a new key pair, from the operating system's randomness.

    The primes are those of an RSA key from the ``cryptography`` package: of equal length, far
    apart, from a cryptographically secure generator. (GMP's and gmpy2's generators are not.)

    n has so many ``bits``, one of :data:`KEY_BITS`, or ValueError is raised. 2048 is the paper's;
    3072 is good for 128 bits of security (NIST SP 800-57).
    """
    if bits not in KEY_BITS:
        raise ValueError(f"bits must be one of {', '.join(map(str, KEY_BITS))}, got {bits!r}")
    numbers = rsa.generate_private_key(public_exponent=65537, key_size=bits).private_numbers()
    return PrivateKey(numbers.p, numbers.q)


def _encrypt(n: int, message: int, r: int) -> gmpy2.mpz:
    """Return (1 + n)^message · rⁿ mod n², where (1 + n)^message = 1 + message · n."""
    square = gmpy2.mpz(n) ** 2
    return (1 + message * n) * gmpy2.powmod(r, n, square) % square


def _random_unit(n: int) -> int:
    """Draw uniformly in Z*ₙ, from secure randomness; a real key rejects next to never."""
    while True:
        r = 1 + secrets.randbelow(n - 1)
        if gmpy2.gcd(r, n) == 1:
            return r
