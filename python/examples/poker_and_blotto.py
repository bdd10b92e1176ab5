"""Games that come with the package: Kuhn's and Leduc poker, and Colonel Blotto."""

from couloir import games


def show(name, game, tol):
    solution = game.solve(tol=tol)
    bounds = solution.certificate
    print(f"{name:24} value {bounds['lower']:+.7f} to {bounds['upper']:+.7f}, exploitability {game.exploitability(solution.x, solution.y):.1e}")
    return solution


def main():
    kuhn = games.kuhn()
    solution = show("Kuhn's poker", kuhn, 1e-9)
    print("the first player's plan:", [(name, round(weight, 3)) for name, weight in kuhn.support(solution.y, "y")[1:4]])
    show("Leduc poker", games.leduc(), 1e-5)
    show("Blotto, 6 on 3 fields", games.blotto(6, 3), 1e-6)


if __name__ == "__main__":
    main()
