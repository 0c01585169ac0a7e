"""The writer of a service is struck at a statement that it sends: its connection ends before the
statement or behind it, or the process sleeps until another one has taken over. A commit counts as a
statement; it has been carried out where its connection ends behind it."""

import threading

import psycopg
import sqlalchemy as sa

HOWS = ("before", "behind", "asleep")


class Cuts:
    """The statements of a service's writer. sleep: what happens elsewhere while it sleeps."""

    def __init__(self, service, sleep):
        self.service, self.sleep = service, sleep
        self.left, self.again, self.how, self.behind = 0, 0, "", False
        self.struck = []  # the statements
        engine = service.own.engine
        sa.event.listen(
            engine,
            "before_cursor_execute",
            lambda connection, cursor, text, *rest: self.begin(connection.connection, text),
        )
        sa.event.listen(
            engine,
            "after_cursor_execute",
            lambda connection, cursor, text, *rest: self.end(connection.connection, text),
        )
        self.commit, engine.dialect.do_commit = engine.dialect.do_commit, self.committed

    def arm(self, n, how, again=0):
        """Strike at the n-th statement from now. again: and once more so many statements later; 0:
        not."""
        self.left, self.how, self.again, self.struck = n, how, again, []

    def disarm(self):
        """Strike no more; returns what was struck."""
        self.left = 0
        return self.struck

    def committed(self, connection):
        self.begin(connection, "COMMIT")
        self.commit(connection)
        self.end(connection, "COMMIT")

    def begin(self, connection, text):
        if self.left and threading.current_thread() is self.service.writer:
            self.left -= 1
            if not self.left:
                if self.how == "behind":
                    self.behind = True
                else:
                    self.strike(connection, text)

    def end(self, connection, text):
        if self.behind and threading.current_thread() is self.service.writer:
            self.behind = False
            self.strike(connection, text)
            raise psycopg.OperationalError("the connection was cut")

    def strike(self, connection, text):
        self.struck.append(" ".join(text.split()[:3]))
        self.left, self.again = self.again, 0
        if self.how == "asleep":
            self.sleep()
        else:
            connection.dbapi_connection.close()
