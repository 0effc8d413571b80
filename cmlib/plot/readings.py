"""Ways of cleaning by how near they bring one reading of an event to the other."""

from cmlib.plot.style import blank, palette, styled


@styled
def readings(judged, *, perfect):
    """What each way of cleaning leaves of the disagreement of two readings, a row a reading."""
    labels, methods = list(dict.fromkeys(judged["label"])), list(dict.fromkeys(judged["method"]))
    figure, axes = blank(1.3 + 0.24 * len(labels))
    ax = axes[0, 0]
    ax.axvline(100, color="#555555", lw=0.9, label="as printed")
    ax.axvline(perfect, color="#555555", lw=0.9, ls=":", label="perfect")
    markers = "osD^vP"
    for number, (method, colour) in enumerate(zip(methods, palette(len(methods)), strict=True)):
        own = judged[judged["method"] == method]
        places = [labels.index(label) for label in own["label"]]
        ax.plot(own["left"], places, markers[number % len(markers)], color=colour, ms=5, label=method)
    ax.set(xlabel="left of the disagreement of two readings [%]", ylim=(len(labels) - 0.5, -0.5))
    ax.set_yticks(range(len(labels)), labels)
    ax.grid(axis="x", color="#e3e5e8")
    figure.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=5)
    return figure, ax
