"""Kinds that other packages bring: found by entry point, and used when the operator enabled them by name.

A package names a module under the entry point group `noetl.tools`; the module has `KIND` and `make`, as those in this
folder have. In: the names of the setting `tools.plugins`. Out: modules. An entry point that is not enabled is never
imported, whatever a playbook says (security 25), and where nothing is enabled nothing is looked for. A package that
cannot be used costs its own kind and no other: what is wrong with it is said when a playbook uses the kind.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from noetl.dsl.kinds import Absence, Kind
from noetl.errors import UnusablePlugin

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "noetl.tools"
SETTING = "tools.plugins"
FAULTS_SHOWN_MAX = 5
MESSAGE_CHARACTERS_MAX = 500


class Plugin(NamedTuple):
    """An entry point, and the package it is from."""

    point: EntryPoint
    package: str

    @property
    def name(self) -> str:
        return self.point.name


class Plugins:
    """The plugins that are enabled; each imported when its kind is first asked for."""

    def __init__(self, enabled: Sequence[str] = (), taken: Iterable[str] = ()) -> None:
        """`taken`: names of kinds that a plugin cannot have. Raises UnusablePlugin for a name that nobody brings."""
        self._taken = frozenset(taken)
        there = installed() if enabled else []
        self._enabled = {name: chosen(name, there) for name in enabled}
        self._ignored = [plugin for plugin in there if plugin.name not in self._enabled]
        self._modules: dict[str, Any] = {}
        self._faults: dict[str, str] = {}

    def __iter__(self) -> Iterator[str]:
        """The names of those that can be used."""
        return (name for name in self._enabled if name in self)

    def __contains__(self, name: object) -> bool:
        if name not in self._enabled:
            return False
        if name not in self._modules and name not in self._faults:
            self._load(self._enabled[name])
        return name in self._modules

    def module(self, name: str) -> Any:
        """The module of one that can be used."""
        if name not in self:
            raise KeyError(name)
        return self._modules[name]

    def absence(self, name: str) -> Absence | None:
        """Why a kind of that name is not to be had, if a package that is installed brings one."""
        if name in self:
            return None
        if name in self._enabled:
            fix = f'repair or update that package, or take "{name}" out of {SETTING}'
            return Absence(self._faults[name], fix)
        found = [plugin for plugin in installed() if plugin.name == name]
        if not found:
            return None
        why = f"{found[0].package} brings this kind, but it is not enabled here, and a playbook cannot enable it"
        return Absence(why, f'whoever runs NoETL adds "{name}" to {SETTING} in noetl.toml, or to NOETL_TOOLS_PLUGINS')

    def log_ignored(self) -> None:
        """Say in the log what is installed besides and left alone."""
        for plugin in self._ignored:
            import logging  # slow to import, and seldom needed here

            facts = {"action": "plugin_ignored", "plugin": plugin.name, "package": plugin.package}
            logging.getLogger(__name__).warning("a plugin is installed and not enabled", extra=facts)

    def _load(self, plugin: Plugin) -> None:
        try:
            self._modules[plugin.name] = loaded(plugin, self._taken)
        except UnusablePlugin as fault:
            self._faults[plugin.name] = str(fault)


def installed() -> list[Plugin]:
    """Every entry point of the group in this environment; none of them is imported by this."""
    from importlib.metadata import entry_points  # slow to import, and few need it

    return [
        Plugin(point, f"{point.dist.name} {point.dist.version}" if point.dist else point.value)
        for point in sorted(entry_points(group=GROUP))
    ]


def chosen(name: str, there: Sequence[Plugin]) -> Plugin:
    """The one that has this name. Raises UnusablePlugin."""
    found = [plugin for plugin in there if plugin.name == name]
    if not found:
        names = ", ".join(sorted({plugin.name for plugin in there})) or "none"
        raise UnusablePlugin(
            f'{SETTING} names "{name}", but no installed package brings a kind of that name; those installed bring: '
            f"{names}. Install the package that does into the environment of noetl, or take the name out"
        )
    if len(found) > 1:
        packages = " and ".join(plugin.package for plugin in found)
        raise UnusablePlugin(f'{SETTING} names "{name}", which two packages bring: {packages}. Remove one of them')
    return found[0]


def loaded(plugin: Plugin, taken: frozenset[str]) -> Any:
    """The plugin's module, with a declaration that can be used. Raises UnusablePlugin."""
    if plugin.name in taken:
        raise UnusablePlugin(f'{plugin.package} brings a kind "{plugin.name}", which is the name of a kind of NoETL')
    try:
        module = plugin.point.load()
    except (Exception, SystemExit) as error:  # it is somebody else's code: whatever it does, the other kinds go on
        said = f"{type(error).__name__}: {error}"[:MESSAGE_CHARACTERS_MAX]
        raise UnusablePlugin(
            f"{plugin.package} brings this kind, but importing {plugin.point.value} fails: {said}"
        ) from error
    faults = declaration_faults(plugin, module)
    if faults:
        said = "; ".join(faults[:FAULTS_SHOWN_MAX])
        raise UnusablePlugin(f"{plugin.package} brings this kind, but {plugin.point.value} cannot be used: {said}")
    return module


def declaration_faults(plugin: Plugin, module: Any) -> list[str]:
    from noetl.dsl.kind_faults import kind_faults

    kind = getattr(module, "KIND", None)
    if not isinstance(kind, Kind):
        return ["it has no KIND, a noetl.dsl.kinds.Kind that declares the kind"]
    faults = kind_faults(kind)
    if kind.name != plugin.name:
        faults.append(f'KIND is named "{kind.name}", but the entry point "{plugin.name}": they must be the same')
    if not callable(getattr(module, "make", None)):
        faults.append("it has no make(hands), which gives the tool")
    return faults
