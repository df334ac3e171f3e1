"""What is wrong in a device configuration, collected while it is read."""

from dataclasses import dataclass, field

import yaml

from extender.errors import BadDeviceConfig, ConfigProblem

_LONGEST_VALUE = 60


@dataclass(slots=True)
class Problems:
    """All that was found wrong so far, and who has which name.

    Attributes:
        source: What is read, for the error.
        found: In the order of finding.
        owners: For each name that must be unique: the key that has it, and its line.
    """

    source: str
    found: list[ConfigProblem] = field(default_factory=list)
    owners: dict[str, tuple[str, int]] = field(default_factory=dict)

    def add(self, node: yaml.Node, key: str, value: str | None, expected: str) -> None:
        """Report a value.

        Args:
            node: Where it stands.
            key: Its path, such as ``vnpus.configs[1].memoryFactor``.
            value: What was found; None where the key is what is wrong.
            expected: What would have been accepted.
        """
        mark = node.start_mark
        self.found.append(
            ConfigProblem(
                line=mark.line + 1,
                column=mark.column + 1,
                key=key,
                value=value if value is None else _cut(value),
                expected=expected,
            )
        )

    def claim(self, node: yaml.Node, key: str, name: str, what: str) -> bool:
        """Note who has a name, and report a second one who wants it.

        Args:
            node: Where it stands.
            key: Its path.
            name: Wanted by the key.
            what: Kind of name; others may have the same text.

        Returns:
            Whether it was free.
        """
        identity = f"{what}: {name}"
        owner = self.owners.setdefault(identity, (key, node.start_mark.line + 1))
        if owner[0] != key:
            expected = f"free: {owner[0]} has it (line {owner[1]})"
            self.add(node, key, repr(name), expected)
            return False
        return True

    def raise_any(self) -> None:
        """Raise all problems as one error.

        Raises:
            BadDeviceConfig: There are some.
        """
        if self.found:
            by_place = sorted(self.found, key=lambda each: (each.line, each.column))
            raise BadDeviceConfig(self.source, by_place)


def _cut(value: str) -> str:
    return (
        value if len(value) <= _LONGEST_VALUE else f"{value[: _LONGEST_VALUE - 3]}..."
    )
