"""Make the stored outputs of Weka again: python make.py /usr/share/java/weka.jar (Debian's package weka)."""

import subprocess
import sys
import tempfile
from pathlib import Path

from sklearn import datasets

HERE = Path(__file__).resolve().parent
TREES = {
    "iris": [""],
    "wine": ["", "-C 0.05"],
    "breast_cancer": ["", "-C 0.05"],
    "digits": ["", "-C 0.05", "-M 10"],
}
SELECTION = "weka.attributeSelection."


def write_arff(path, X, y):
    """Write numeric columns x0, x1, … and the classes c0, c1, …"""
    lines = ["@relation data", *(f"@attribute x{i} numeric" for i in range(X.shape[1]))]
    lines += ["@attribute class {" + ",".join(f"c{k}" for k in range(y.max() + 1)) + "}", "@data"]
    lines += [",".join([*map(repr, map(float, row)), f"c{label}"]) for row, label in zip(X, y, strict=True)]
    path.write_text("\n".join(lines) + "\n")


def run(jar, folder, name, command):
    """Run a Weka command in the folder of the ARFF files and store what it prints below the command."""
    done = subprocess.run(["java", "-cp", jar, *command.split()], cwd=folder, capture_output=True, text=True)
    if done.returncode or not done.stdout:
        raise SystemExit(f"{command}\n{done.stderr}")
    (HERE / name).write_text(f"# java -cp weka-3.6.14.jar {command}\n{done.stdout}")


def main(jar):
    """Write all outputs."""
    with tempfile.TemporaryDirectory() as folder:
        for name, options in TREES.items():
            data = getattr(datasets, f"load_{name}")()
            write_arff(Path(folder, f"{name}.arff"), data.data, data.target)
            for part, rows in (("even", slice(0, None, 2)), ("odd", slice(1, None, 2))):
                write_arff(Path(folder, f"{name}_{part}.arff"), data.data[rows], data.target[rows])
            for option in options:
                command = f"weka.classifiers.trees.J48 {option} -t {name}.arff -no-cv -v"
                run(jar, folder, f"tree_{name}{option.replace(' ', '')}.txt", " ".join(command.split()))
            command = f"weka.classifiers.trees.J48 -t {name}_even.arff -T {name}_odd.arff -p 0"
            run(jar, folder, f"predictions_{name}.txt", command)
            command = f"{SELECTION}GainRatioAttributeEval -i {name}.arff -s {SELECTION}Ranker"
            run(jar, folder, f"gain_ratio_{name}.txt", command)
            command = f"{SELECTION}CfsSubsetEval -L -i {name}.arff -s {SELECTION}BestFirst"
            run(jar, folder, f"cfs_{name}.txt", command)


if __name__ == "__main__":
    main(sys.argv[1])
