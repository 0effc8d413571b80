# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
#       format_version: '1.3'
#       jupytext_version: 1.19.6
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Summary: what was found, in plain words
#
# **Question.** What do the counters say about these programs, how sure is it, and where does it differ from the papers?
#
# *Reads* the results of the other notebooks of this profile. *Writes* one table of all numbers beside the papers'.

# %% tags=["parameters"]
settings: dict = {}  # profile, results_folder

# %%
from cmlib.report import count_reproduced, read_reproduction, read_results
from cmlib.report.notebook import begin

notebook = begin("10_summary", settings)
results, settings = notebook.results, notebook.settings

# %% [markdown]
# ## What is reproduced
#
# *Reproduced*: by hardware counters, on as many programs as the paper has. *In part*: simulated, by software events, of fewer programs, or with something lacking. *Not*: nothing here shows it.

# %%
items = read_reproduction(settings["profile"], settings["results_folder"] or None)
counts = count_reproduced(items)
results.table(counts.reset_index(), "reproduced-counts",
              "**Table.** Tables and figures of each paper, by how far they are reproduced.")

# %%
results.table(items, "reproduced",
              "**Table.** Every table and figure of the five papers: what shows it here, on whose "
              "data, of how many of the paper's programs, and what is lacking.", rows=100)

# %% [markdown]
# ## What was found

# %%
summary = read_results(settings["profile"], settings["results_folder"] or None)
results.mark(summary.origin)  # simulated numbers say so
results.table(summary.findings, "findings",
              "**Table.** Findings of each notebook.", rows=200)

# %% [markdown]
# ## Every number beside the paper's
#
# A number that differs is no mistake as such: another processor, another decade, other inputs. The note says of which programs it is the mean, and what is known of the reason. Only programs that a paper measured too enter a mean that stands beside its value.

# %%
results.table(summary.numbers, "numbers",
              "**Table.** Every quantity that was recorded, and what the "
              "paper prints for it.", rows=200)

# %%
printed = int(summary.numbers["paper"].notna().sum())
results.number("quantities that a paper also prints", printed)

# %% [markdown]
# ## What this doesn't show
#
# Recordings of one processor family in a virtual machine; programs and inputs smaller than the papers'. See each notebook for its own limits.

# %%
results.save()
