# Made from the registry by `make stubs`.

from . import data as data
from .bernoulli import Bernoulli as Bernoulli
from .cascade import Cascade as Cascade
from .classification import Classification as Classification
from .linear import ContextualLinear as ContextualLinear
from .lipschitz import ContextualLipschitz as ContextualLipschitz
from .spread import ContextualSpread as ContextualSpread
from .drifting import Drifting as Drifting
from .function import FromFunction as FromFunction
from .gaussian import Gaussian as Gaussian
from .linear import Linear as Linear
from .lipschitz import Lipschitz as Lipschitz
from .promotions import Promotions as Promotions
from .semibandit import SemiBandit as SemiBandit
from .classification import classification as classification
from .function import from_function as from_function
from .spread import spread_arms as spread_arms
