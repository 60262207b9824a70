"""The script of python.yaml: rows and their extremes in, a summary out."""


def main(rows, extremes):
    mean = sum(row["value"] for row in rows) / len(rows)
    return {"rows": len(rows), "mean": round(mean, 3), **extremes}
