package jsonschema

import (
	"maps"

	"github.com/pausenet/pausenet/experiments/measure"
)

// ofExercise is of exercise.yaml, ofHidden of hidden.yaml, which adds to one.
func ofExercise() node {
	parts := exerciseParts()
	maps.Copy(parts, node{
		"title": text("of the exercise"), "goal": text("what a student can do afterwards, in a sentence"),
		"minutes": count("that a student takes"), "check_time": with("how long a check takes on a laptop", ref("time")),
		"hand_in": object(node{
			"answers": named("answers.yaml: what is asked, by the answer's name", object(node{
				"question": text("what is asked"), "kind": words("what the answer is (default: number)", "number", "time", "rate",
					"size"),
			}, "question")),
			"scenarios": named("files of start/, and the places that a student may change: switch.pfc.xoff",
				list(node{"type": "string"})),
			"controllers": with("files of start/; in a list of its own several of which one is handed in: [[control.star, control.wasm]]", list(list(node{"type": "string"}))),
		}),
		"give":  names("files of start/ that are not handed in"),
		"wrong": with("what the hand-in in wrong/ comes to", points()),
	})
	return object(parts, "title", "goal", "hand_in", "checks")
}

func ofHidden() node {
	parts := exerciseParts()
	parts["replace"] = flag("these checks in the place of those that students have; without it beside them")
	return object(parts)
}

// exerciseParts are what both have.
func exerciseParts() node {
	return node{
		"runs": named("what checks look at", object(node{
			"scenario": text("a file of scenarios/, or the student's"),
			"cc":       text("a controller, a variant of the scenario's, or a file of hand_in"),
			"with":     text("a scenario of hand_in, with whose values this one is run"),
		}, "scenario", "cc")),
		"seeds": named("a scenario's seeds, by its file: figures are means over them (default: the scenario's own)",
			list(node{"type": []any{"string", "integer"}})),
		"checks": list(check()),
		"score": with("figures whose geometric mean ranks hand-ins, the least first",
			list(object(figure(), "run", "metric"))),
	}
}

// named is a mapping whose keys are the teacher's.
func named(doc string, value node) node {
	return node{"type": "object", "additionalProperties": value, "description": doc}
}

func points() node { return node{"type": "number", "minimum": 0, "maximum": 1000} }

// figure are the keys by which a figure of a run is named.
func figure() node {
	n := new(measure.PublishedRow).FigureKeys().JSONSchema()["properties"].(node)
	n["run"] = text("whose figure it is")
	n["relative_to"] = text("a run: bounds are changes against it in per cent")
	return n
}

func check() node {
	bound := func(doc string) node { return node{"type": []any{"string", "number"}, "description": doc} }
	keys := figure()
	maps.Copy(keys, node{
		"title": text("of the check"), "points": points(),
		"with_previous": flag("it counts only if the check before it passes"),
		"hint":          text("is told of a check that fails"), "look_at": text("what to look at in the run's report"),
		"least": bound("with a unit: 5us, or in per cent of relative_to: -5%"), "most": bound("as least"),
		"answer": text("an answer of hand_in"), "is": bound("what the answer is; or give a run's metric"),
		"tolerance": with("a part of that, such as 5%", ref("number")),
		"setting":   text("a place that the student may change: what a solution may cost"),
		"of":        text("a scenario of hand_in"),
		"verdict": with("that the run may have", list(words("", string(measure.Pass), string(measure.Warn),
			string(measure.Fail)))),
		"message": text("words of one of the verdict's messages"),
		"steps": node{
			"type": "integer", "minimum": 1, "maximum": 100_000,
			"description": "that a call of the run's controller may take, on average",
		},
	})
	return object(keys, "title", "points")
}
