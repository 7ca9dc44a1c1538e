#!/usr/bin/env python3
"""Draws the load of chapter 03's trained layer from `./run demo 03 --data FILE`: balancing_figure.py DATA.json FIGURE.svg

Needs matplotlib. Marks and checks the figure as roofline_figure.py does.
"""

import sys

import roofline_figure

COLOURS = ("#444444", "#e0a458", "#d1495b", "#2e933c", "#1b6ca8")


def draw(data, figure, mark):
    import matplotlib
    matplotlib.use("svg")
    from matplotlib import pyplot
    matplotlib.rcParams.update({"svg.hashsalt": "octavo", "svg.fonttype": "path", "font.size": 10,
                                "axes.spines.top": False, "axes.spines.right": False})
    canvas, panels = pyplot.subplots(1, 2, figsize=(9, 4), layout="constrained", sharey=True)
    for axes, shifted in zip(panels, (False, True)):
        runs = [run for run in data["runs"] if run["shifted"] == shifted]
        for run, colour in zip(runs, COLOURS):
            steps = [20 * (i + 1) for i in range(len(run["history"]))]
            axes.plot(steps, run["history"], color=colour, linewidth=1.6, label=run["name"])
        title = "inputs with a common mean" if shifted else "centred inputs"
        axes.set_title(title, fontsize=10.5, loc="left")
        axes.set_xlabel("step")
        axes.set_ylim(0.8, data["experts"] + 0.2)
        axes.grid(True, color="#dddddd", linewidth=0.6)
        axes.set_axisbelow(True)
    panels[0].set_ylabel(f"effective experts of {data['experts']}")
    panels[0].legend(loc="lower left", frameon=False, fontsize=9)
    canvas.savefig(figure, metadata={"Date": None, "Description": f"data sha256 {mark}"})


if __name__ == "__main__":
    sys.exit(roofline_figure.main(draw_with=draw, description=__doc__))
