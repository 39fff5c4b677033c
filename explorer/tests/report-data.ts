// An example of a page's data. Written by a test of docsphere-result (UPDATE_GOLDEN=1), which owns
// the schema; the type checker compares it with the schema of the page.
import type { ReportData } from "../src/types";

export default {
  "title": "pets.txt",
  "version": "1.2.3",
  "served": false,
  "editable": false,
  "totals": {
    "documents": 5,
    "terms": 4,
    "withoutTerms": 1,
    "outliers": 1,
    "minSimilarity": 0.1,
    "silhouette": 0.25,
    "emptyClusters": 1,
    "objective": 2.654,
    "iterations": 2,
    "converged": true,
    "seed": "18446744073709551615"
  },
  "settings": [
    [
      "INPUT",
      "pets.txt"
    ],
    [
      "--keep-urls",
      "yes"
    ]
  ],
  "trace": {
    "objective": [
      2.5,
      2.654
    ],
    "moved": [
      5,
      0
    ]
  },
  "stemmed": false,
  "clusters": [
    {
      "name": "cats",
      "renamed": "pets",
      "hidden": true,
      "note": "Check these.",
      "size": 2,
      "cohesion": 0.91,
      "heap": true,
      "silhouette": 0.3,
      "x": 0.5,
      "y": -0.25,
      "keywords": [
        [
          "cat",
          0.8,
          1.0,
          "cats",
          0.5
        ]
      ],
      "typical": [
        {
          "id": "a",
          "similarity": 0.95,
          "duplicates": 2,
          "text": "cats </script> purr"
        }
      ],
      "least": [
        {
          "id": "b",
          "similarity": 0.87
        }
      ],
      "near": [
        [
          1,
          0.1
        ]
      ],
      "histogram": [
        0,
        2
      ]
    },
    {
      "name": "dogs",
      "size": 1,
      "cohesion": 1.0,
      "heap": false,
      "x": -1.0,
      "y": 1.0,
      "keywords": [
        [
          "dogs",
          null,
          1.0,
          null,
          null
        ]
      ],
      "typical": [
        {
          "id": "c",
          "similarity": 1.0
        }
      ],
      "least": [],
      "near": [],
      "histogram": []
    },
    {
      "name": "cluster 2",
      "size": 0,
      "cohesion": 0.0,
      "heap": false,
      "x": 0.0,
      "y": 0.0,
      "keywords": [],
      "typical": [],
      "least": [],
      "near": [],
      "histogram": []
    }
  ],
  "merges": [
    [
      0,
      1,
      "cats, dogs"
    ]
  ],
  "nGroups": 1,
  "columns": [
    {
      "name": "day",
      "kind": "date",
      "values": 4,
      "bad": 1,
      "bins": {
        "step": "day",
        "labels": [
          "2024-03-01",
          "2024-03-02"
        ],
        "edges": [],
        "counts": [
          2,
          1
        ],
        "clusters": [
          [
            [
              0,
              1
            ],
            [
              1,
              1
            ]
          ],
          [],
          []
        ]
      }
    },
    {
      "name": "n",
      "kind": "number",
      "values": 1,
      "bad": 0,
      "bins": {
        "labels": [],
        "edges": [
          0.5,
          1.5
        ],
        "counts": [
          1
        ],
        "clusters": [
          [
            [
              0,
              1
            ]
          ],
          [],
          []
        ]
      }
    },
    {
      "name": "notes",
      "kind": "text",
      "values": 5,
      "bad": 0
    }
  ],
  "points": {
    "total": 3,
    "n": 3,
    "number": "AQAAAAIAAAAAAAAA",
    "offset": "AOAAYAAAAIMAQAAA",
    "cluster": "AAAAAAEAAAAAAAAA",
    "similarity": "3v/y",
    "bins": {
      "0": "Af8A"
    },
    "titles": [
      "b",
      "c",
      "cats </script> purr"
    ]
  }
} satisfies ReportData;
