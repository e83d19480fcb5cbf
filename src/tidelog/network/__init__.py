"""Located programs on asynchronous nodes: no coordinator, no rounds, no order of messages.

localize      a located program to rules each of which reads the tuples of one node
Node          one node, with a transport
Simulation    a whole network in one process, with an adversary and a seed
Transport     the base class of what carries packets; SimulatedNetwork is here, `zeromq` and `mqtt` are modules
"""

from tidelog.network.localize import localize
from tidelog.network.node import Node
from tidelog.network.simulation import Simulation
from tidelog.network.transport import SimulatedNetwork, SimulatedTransport, Transport

__all__ = ["Node", "SimulatedNetwork", "SimulatedTransport", "Simulation", "Transport", "localize"]
