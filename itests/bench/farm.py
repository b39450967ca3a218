"""What the tables about several nodes stand on: a ZooKeeper ensemble, and sites, which are nodes
over Redis masters. One site works at a time; the others have no nodes meanwhile."""

from pathlib import Path

from bench.loads import Loads, undisturbed
from bench.site import Masters, OneRedis, Site
from harness.zookeeper import Ensemble


class Farm(Loads):
    """`with Farm(progress, settings) as farm`; the settings are those of all nodes."""

    def __init__(self, progress=None, settings=None):
        super().__init__(progress)
        self._settings = settings
        self._zookeeper = Ensemble(Path(self.directory) / "zookeeper")
        self._stores, self._sites = {}, []

    def __enter__(self):
        try:
            self._zookeeper.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *unused):
        with undisturbed():
            try:
                self.kill_loads()
            finally:
                for owned in (*self._sites, *self._stores.values(), self._zookeeper):
                    owned.destroy()
                self.clean_up()

    def site(self, name, mode, masters=1):
        """Sites with as many masters share them."""
        if masters not in self._stores:
            directory = Path(self.directory) / f"masters{masters}"
            self._stores[masters] = store_of(directory, masters).start()
        self._sites.append(Site(name, self, self._zookeeper, self._stores[masters], mode,
                                self._settings))
        return self._sites[-1]


def store_of(directory, masters):
    return OneRedis(directory) if masters == 1 else Masters(directory, masters)
