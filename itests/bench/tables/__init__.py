"""What is measured: a function a table, in files by subject. It fills in a Result while it runs
on a node of its own (`bench`), in the sizes that `options` asks for.

To add a table: a function with @table in one of these files, which are in the order of the page.
"""

# isort: skip_file
from bench.tables import throughput
from bench.tables import latency
from bench.tables import lateness
from bench.tables import cost
from bench.tables import due
from bench.tables import beanstalkd
from bench.tables import tls
from bench.tables import flood
from bench.tables import many
from bench.tables import space
from bench.tables import life
from bench.tables import replicas
from bench.tables import large
from bench.tables import scale
from bench.tables import fleet
from bench.tables import operations
from bench.tables import reload
from bench.tables.table import TABLES

GROUPS = {"compare": ("cost", "cost_synced", "due", "due_synced"), "dialects": ("beanstalkd",),
          "scale": ("nodes", "locks", "idle_topics", "hot", "operations",
                    "reload")}  # a word for several

__all__ = ["GROUPS", "TABLES", "beanstalkd", "cost", "due", "fleet", "flood", "large", "latency",
           "lateness", "life", "many",
           "operations", "reload", "replicas", "scale", "space", "throughput", "tls"]
