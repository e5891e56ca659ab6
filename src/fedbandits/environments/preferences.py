"""Preference vectors of users: drawn, from a file of vectors, or made from a file of ratings."""

from __future__ import annotations

import functools
import math
import pathlib
import warnings

import numpy as np

from fedbandits._typing import Floats, Ints
from fedbandits.environments.kernels.arrivals import HALF
from fedbandits.environments.rating_files import RatingFile, leading_factors, read_ratings
from fedbandits.errors import ConfigError, DataError
from fedbandits.random import Key, Purpose, normals

#: Largest number of draws for a direction at a distance from all others.
_ATTEMPTS = 2000
#: Distance below which vectors count as equal.
_SAME = 1e-9
_LONGEST = 1.0 + 1e-9


@functools.lru_cache(maxsize=8)
def read_preferences(path: str) -> Floats:
    """Read a file of preference vectors, (users, d) float64, as a read-only array.

    Raises DataError if the file is missing, or does not hold finite vectors of length at most 1.
    """
    try:
        # Mapped, not read: a header that states more than the file holds costs no memory.
        stored = np.lib.format.open_memmap(pathlib.Path(path), mode="r")
    except FileNotFoundError:
        raise DataError(f"{path}: no such file; give a .npy file of (users, d) numbers") from None
    except (
        Exception
    ) as error:  # numpy evaluates the header as Python, so reading fails in many ways
        raise DataError(
            f"{path!r}: cannot be read as a .npy file of numbers (an archive is not one): "
            f"{type(error).__name__}"
        ) from None
    if stored.ndim != 2 or stored.dtype.kind != "f":
        raise DataError(
            f"{path}: expected an array of floats (users, d), found {stored.dtype} {stored.shape}"
        )
    if len(stored) == 0 or stored.shape[1] < 2:
        raise DataError(f"{path}: expected at least 1 user and d ≥ 2, found {stored.shape}")
    with np.errstate(over="ignore"):  # overflow becomes infinity, which _check refuses
        vectors = np.array(stored, dtype=np.float64, order="C", subok=False)
        _check(path, vectors)
    vectors.setflags(write=False)
    return vectors


def _check(path: str, vectors: Floats) -> None:
    wrong = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
    if len(wrong):
        raise DataError(f"{path}, row {wrong[0]}: expected finite numbers")
    lengths = np.linalg.norm(vectors, axis=1)
    if lengths.max() > _LONGEST:
        row = int(lengths.argmax())
        raise DataError(
            f"{path}, row {row}: expected a vector of length at most 1, found {lengths[row]:.6g}"
        )


def largest_gap(clusters: int) -> float:
    """Return a distance that not all pairs of ``clusters`` vectors can exceed (Rankin 1955)."""
    return math.inf if clusters < 2 else HALF * math.sqrt(2.0 * clusters / (clusters - 1))


def drawn_preferences(
    key: Key, users: int, clusters: int, dim: int, gap: float, within: float = 0.0
) -> Floats:
    """Draw preference vectors of contiguous clusters, of sizes as equal as possible.

    A cluster's vector is a uniform direction of length 1/√2 and a constant 1/√2; directions that
    are too close to an earlier direction are drawn anew. Users of a cluster lie around its vector,
    at distances up to ``within`` from each other, and at least ``gap`` from users of another
    cluster. Raises ConfigError if no such vectors are drawn.
    """
    centres = np.full((clusters, dim), HALF)
    for cluster in range(clusters):
        for attempt in range(_ATTEMPTS):
            direction = normals(dim - 1, key, cluster, attempt, Purpose.WORLD)
            centres[cluster, :-1] = direction * (HALF / float(np.linalg.norm(direction)))
            distances = np.linalg.norm(centres[:cluster] - centres[cluster], axis=1)
            if (distances > max(gap + within, _SAME)).all():
                break
        else:
            raise ConfigError(
                f"environment.gap: found no {clusters} vectors in dimension {dim} at a distance "
                f"of {gap:g} from one another; use a smaller gap, fewer clusters or a larger dim"
            )
    preferences: Floats = centres[block_of(users, clusters)]
    if within > 0.0:
        for user in range(users):
            draws = normals(dim, key, clusters + user, 0, Purpose.WORLD)
            preferences[user, :-1] = _beside(preferences[user, :-1], draws, 0.5 * within)
    return preferences


def _beside(centre: Floats, draws: Floats, farthest: float) -> Floats:
    """Draw a vector of equal length within a distance of ``centre``, uniformly in the tangent.

    ``farthest`` is the largest distance. ``draws`` has a normal for every coordinate of ``centre``,
    and a normal for the distance.
    """
    length = float(np.linalg.norm(centre))
    tangent = draws[:-1] - centre * (draws[:-1] @ centre) / length**2
    tangent /= np.linalg.norm(tangent)
    share = 0.5 * math.erfc(-float(draws[-1]) / math.sqrt(2.0))  # uniform on [0, 1]
    distance = farthest * share ** (1.0 / (len(centre) - 1))
    angle = 2.0 * math.asin(distance / (2.0 * length))
    beside: Floats = math.cos(angle) * centre + math.sin(angle) * length * tangent
    return beside


def block_of(count: int, blocks: int) -> Ints:
    """Cut 0 … count-1 into blocks, the last ones smaller by one; return each number's block."""
    sizes = np.full(blocks, count // blocks)
    sizes[: count % blocks] += 1
    return np.repeat(np.arange(blocks, dtype=np.int64), sizes)


def cluster_labels(vectors: Floats) -> Ints:
    """Give rows numbers in order of appearance, and equal rows equal numbers."""
    _, first, inverse = np.unique(vectors, axis=0, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse.reshape(-1)].astype(np.int64)


def preferences_of_next(vectors: Floats, labels: Ints) -> Floats:
    """Return for each user the vector of the next cluster, (users, d); the first follows the last.

    Raises ConfigError if there is only one cluster.
    """
    if labels.max() == 0:
        raise ConfigError("environment.drift: there is only one cluster; use at least two clusters")
    _, first = np.unique(labels, return_index=True)
    following: Floats = vectors[first[(labels + 1) % len(first)]]
    return following


@functools.lru_cache(maxsize=4)
def rated_preferences(file: RatingFile, users: int, items: int, clusters: int, dim: int) -> Floats:
    """Compute preferences of a file's most active users, (users, d), as a read-only array.

    The most active users and the most rated items form a matrix of ones and zeros; its truncated
    SVD gives every user d - 1 coordinates, k-means sorts the users into clusters, and a cluster's
    centre, all scaled to a length of at most 1/√2, is the vector of its users.

    Raises DataError if the file is missing, malformed, or too small.
    """
    from scipy.sparse import csr_matrix
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    path = file.path
    who, what, _ = read_ratings(*file)
    kept_users, kept_items = (
        _busiest(path, "users", who, users),
        _busiest(path, "items", what, items),
    )
    rows, columns = kept_users[who], kept_items[what]
    both = (rows >= 0) & (columns >= 0)
    shape = (users, int(kept_items.max()) + 1)
    seen = csr_matrix((np.ones(int(both.sum())), (rows[both], columns[both])), shape=shape)
    seen.data[:] = 1.0  # a pair with two ratings counts once
    if dim > min(shape):
        raise DataError(
            f"environment.dim: {dim} coordinates of {shape[0]} users and {shape[1]} items in "
            f"{path}; use at most {min(shape)}"
        )
    seen.sort_indices()
    kinds = {part.tobytes() for part in np.split(seen.indices, seen.indptr[1:-1])}
    too_few = DataError(f"{path}: fewer than {clusters} different users; use fewer clusters")
    if len(kinds) < max(2, clusters):
        raise too_few
    coordinates = leading_factors(path, seen, dim - 1).left
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        try:
            clustering = KMeans(n_clusters=clusters, n_init=10, random_state=0).fit(coordinates)
        except ConvergenceWarning:  # several kinds of users have the same coordinates
            raise too_few from None
    longest = float(np.linalg.norm(clustering.cluster_centers_, axis=1).max())
    vectors = np.full((users, dim), HALF)
    vectors[:, :-1] = (HALF / max(longest, 1e-12)) * clustering.cluster_centers_[clustering.labels_]
    vectors.setflags(write=False)
    return vectors


def _busiest(path: str, name: str, numbers: Ints, wanted: int) -> Ints:
    """Return each number's rank among the ``wanted`` most frequent, or -1.

    There may be fewer items than wanted, but not fewer users.
    """
    counts = np.bincount(numbers)
    if name == "users" and len(counts) < wanted:
        raise DataError(
            f"environment.users: {wanted} users, but {path} has {len(counts)}; use fewer"
        )
    ranks = np.full(len(counts), -1, dtype=np.int64)
    order = np.argsort(-counts, kind="stable")[:wanted]
    ranks[order] = np.arange(len(order))
    return ranks
