"""A session and its slow twin on the same rewards."""


def step(session, twin, reward, *rng):
    """One round of both, in which they must choose alike. reward: of an arm."""
    arm = session.select()
    assert arm == twin.select(*rng), session.rounds
    value = reward(arm)
    session.update(arm, value)
    twin.update(arm, value)
    return arm


def until_they_stop(session, twin, rounds, reward):
    """Rounds of both, as many as these at most; they must also stop alike."""
    for n in range(rounds):
        assert session.stopped == twin.stopped(), n
        if session.stopped:
            break
        step(session, twin, reward)
