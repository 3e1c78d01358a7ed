# %% [markdown]
# # A pion on a quenched configuration
#
# This example reads a gauge configuration, computes the propagator of a Wilson quark from a point, and plots the correlator of the pion and its
# effective mass. Run it as a program (`python pion.py [CONFIGURATION] [PICTURE.svg]`), or cell by cell in an editor that supports `# %%`. In a clone
# of the repository it finds a configuration by itself.

# %%
import sys
from pathlib import Path

import lanefield as lf
import matplotlib
import numpy as np

arguments = sys.argv[1:] if __name__ == "__main__" and not hasattr(sys, "ps1") else []
here = Path(__file__).resolve().parent if "__file__" in globals() else Path.cwd()
in_the_clone = [folder / "examples" / "quenched-8x8x8x16.nersc" for folder in (here, *here.parents)]
path = arguments[0] if arguments else next((path for path in in_the_clone if path.is_file()), None)
if path is None:
    sys.exit("give a configuration: python pion.py CONFIGURATION [PICTURE.svg]")
if arguments[1:]:
    # Draw into a file, without a screen.
    matplotlib.use("Agg")
import matplotlib.pyplot as plt

# %% [markdown]
# ## The configuration and the operator
#
# The plaquette is an exact sum, with the same bits everywhere. Without `device=` the operator runs on the first GPU, else on any OpenCL device,
# else on the CPU. This example uses the CPU, which needs no time to build kernels.

# %%
configuration = lf.Configuration.read(path)
print(configuration)
wilson = lf.Operator("wilson", configuration, mass=-0.3, boundary=(1, 1, 1, -1), device="cpu")
print(wilson)

# %% [markdown]
# ## The propagator
#
# One batch of twelve solves, one for each spin and colour of the source. Ctrl-C ends them.

# %%
source = (0, 0, 0, 0)
result = lf.propagator(wilson, source, tolerance=1e-8, progress=lambda k, r: print(f"iteration {k}: |r|/|b| = {r:.1e}"), every=25)
print(result)

# %% [markdown]
# ## The correlator and its effective mass

# %%
correlators = lf.correlator(result.solution, origin_time=source[3])
masses = lf.effective_masses(correlators.pion)
for t, c in enumerate(correlators.pion):
    mass = f"{masses[t]:.6f}" if t < len(masses) else ""
    print(f"{t:3} {c:.9e} {mass}")

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
left.semilogy(correlators.pion, "o-", label="pion")
left.semilogy(correlators.rho, "s-", label="rho")
left.set(xlabel="t", ylabel="C(t)", title="correlators")
left.legend()
right.plot(np.arange(len(masses)) + 0.5, masses, "o")
right.set(xlabel="t", ylabel="effective mass", title="pion", ylim=(0, None))
figure.suptitle(f"Wilson, mass {wilson.parameters['mass']}, one configuration, {'×'.join(map(str, configuration.extents))}")
if arguments[1:]:
    figure.savefig(arguments[1])
    print(f"wrote {arguments[1]}")
else:
    plt.show()
