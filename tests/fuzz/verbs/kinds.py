"""All kinds of objects whose verbs are called at random."""

from __future__ import annotations

from tests.fuzz.verbs.clients import CLIENTS
from tests.fuzz.verbs.databases import DATABASES
from tests.fuzz.verbs.networks import NETWORKS
from tests.fuzz.verbs.triples import TRIPLES

KINDS = (DATABASES, TRIPLES, NETWORKS, CLIENTS)
