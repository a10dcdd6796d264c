"""Soon."""


def instrument() -> None: ...


def uninstrument() -> None: ...
