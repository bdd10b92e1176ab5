"""Generated ratings of 600 users and 400 films, some of them spoilt: the robust fit, its certificate, and what it says of new ratings.

The matrix has rank 4; every user has rated about 50 films, and 2 % of the ratings are noise.
"""

import numpy as np
from couloir import MatrixCompletion

USERS, FILMS, RANK, RATINGS = 600, 400, 4, 30_000

rng = np.random.default_rng(0)
tastes, styles = rng.normal(size=(USERS, RANK)), rng.normal(size=(FILMS, RANK))
rows, cols = rng.integers(0, USERS, RATINGS), rng.integers(0, FILMS, RATINGS)
ratings = (tastes[rows] * styles[cols]).sum(axis=1) + 0.1 * rng.normal(size=RATINGS)
spoilt = rng.random(RATINGS) < 0.02
ratings[spoilt] = 2 * rng.normal(size=spoilt.sum())

tau = 0.9 * RANK * np.sqrt(USERS * FILMS)
new_rows, new_cols = rng.integers(0, USERS, 5000), rng.integers(0, FILMS, 5000)
truth = (tastes[new_rows] * styles[new_cols]).sum(axis=1)
for loss in ("squared", "huber"):
    model = MatrixCompletion((USERS, FILMS), tau, loss=loss, threshold=0.3, level=5.0, tol=1e-3)
    model.fit(rows, cols, ratings)
    missed = np.sqrt(np.mean((model.predict(new_rows, new_cols) - truth) ** 2))
    weights = model.observation_weights_
    print(
        f"{loss:8} certified gap {model.certificate_['gap']:.1e}, rank {model.rank_}, error on new ratings {missed:.2f}, "
        f"mean weight of spoilt ratings {weights[spoilt].mean():.2f}"
    )
