package scenario

import (
	"fmt"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/internal/keys"
	"github.com/pausenet/pausenet/topologies"
)

// fileNameRule completes an error about a name that also names a folder of results.
const fileNameRule = "may have only letters, digits, '.', '_' and '-', because it names a folder"

// Keys returns the keys of a scenario file.
func Keys() keys.Table { return (&decoder{s: &Scenario{Seed: 1}, seed: 1}).keys() }

// keys returns the keys of a scenario file, bound to the fields that hold their values.
func (d *decoder) keys() keys.Table {
	s := d.s
	published := func() keys.Table { return publishedKeys(new(measure.PublishedTable), new(measure.PublishedRow)) }
	topology := func() keys.Schema { return keys.AnyOf(keys.String, keys.Ref("topology")) }
	return keys.Table{
		keys.Matching("name", &s.Name, NamePattern, "a scenario's name "+fileNameRule).Usually("the file's name").Means(
			"name of the results folder: letters, digits, `.`, `_`, `-`"),
		keys.Text("description", &s.Description).Means("shown in the report"),
		keys.Other("topology", "text, or mapping", topology).Need().Means(
			"a built-in's name, a file (relative to the scenario's file), or a [topology](topologies.md) inline"),
		keys.Time("duration", &s.Duration).AtMost(maxDuration.String()).Present("required").
			NotZero("a run takes some virtual time, such as 10ms").Means(
			"when the run stops"),
		keys.Flag("drain", &s.Drain).Means(
			"`true`: the run ends when every flow has ended and no frame is left, before or after `duration`. Not " +
				"with an `unbounded` flow, which never ends"),
		keys.Time("drain_limit", &s.DrainLimit).AtMost(maxDuration.String()).
			Usually("`1s`, or ten times `duration` if that is longer").
			NotZero("remove drain to end the run after its duration").Means(
			"longest time that the run drains after `duration`. If flows have not ended by then, the verdict is " +
				"FAIL"),
		keys.Integer("seed", &d.seed).Between("0", fmt.Sprint(1<<seedBits-1)).Means(
			"seed of everything random: RED's marks, UDP source ports of flows, their `jitter`, and the flows of " +
				"workloads"),
		keys.List("flows", newFlowEntry().keys).Present("this or `workloads`").Means(
			"flows, one by one: [below](#flows)"),
		keys.List("workloads", newWorkloadEntry().keys).Present("this or `flows`").Means(
			"flows by rules, or from files: [below](#workloads)"),
		keys.GroupOf("routing", &keys.Group{}),
		keys.Choice("routing.hash", &d.hash, topologies.HashNames...).Usually("own").Means(
			"how switches choose among equal-cost ports: [below](#routing)"),
		keys.Other("controllers", "names, or mappings", controllersSchema).Usually("[dcqcn]").Means(
			"controllers and [variants](#controllers) to run if `--cc` names none"),
		keys.Other("cc", "mapping", constantsSchema).Means(
			"constants of [controllers](controllers.md): `cc: {dcqcn: {g: 1/16}}`; see below"),
		keys.Other("switch", "mapping", defined("switch")).Usually("see below").Means("settings of every switch"),
		keys.Other("host", "mapping", defined("host")).Usually("see below").Means("settings of every host"),
		keys.List("faults", new(Fault).keys).Means("faults and their times: [faults.md](faults.md)"),
		keys.Mapping("sample", new(Sampling).keys).Usually("see below").Means("what is recorded over time"),
		keys.List("report", new(Panel).keys).Usually("[default panels](#default-panels)").Means("panels of the report"),
		keys.Texts("look_at", &s.LookAt).Means("paragraphs that tell the report's reader what to look at"),
		keys.List("published", published).Means("figures from a source, to compare with the measured ones; see below"),
		keys.Choices("expect_unused", &s.ExpectUnused, unusedNames...).Means(
			"features that this scenario is not about, so the verdict does not warn if the run never uses them: " +
				"`pfc` (or credits), `ecn`, `cnm`, `controller`, `flows` (that never start), `faults` (that never " +
				"happen)"),
		keys.Other("quick", "mapping", anyMapping).Means(
			"changes that `run --quick` makes, by paths as in [`--set`](#changing-a-place---set): " +
				"`{workloads.search.poisson.flows: 500}`"),
		keys.List("spans", new(Span).keys).Means("intervals that plots shade: `{from: 20ms, to: 27ms, label: burst}`"),
	}
}

// defined returns a reference to a definition of the schema.
func defined(name string) func() keys.Schema { return func() keys.Schema { return keys.Ref(name) } }

func aText() keys.Schema { return keys.String }

func anyMapping() keys.Schema { return keys.Schema{"type": "object"} }

// controllersSchema returns the schema of controllers and variants.
func controllersSchema() keys.Schema {
	return keys.ListOf(keys.AnyOf(keys.String, new(Variant).keys().JSONSchema()))
}

// constantsSchema returns the schema of the controllers' constants. It does not check their kinds, which the
// descriptions name, because some are relative to the flow's path.
func constantsSchema() keys.Schema {
	controllers := keys.Schema{}
	for _, name := range cc.Names() {
		spec, err := cc.Lookup(name)
		if err != nil {
			panic(err) // the name comes from the registry
		}
		constants := keys.Schema{}
		for i := range spec.Parameters {
			p := &spec.Parameters[i]
			doc := fmt.Sprintf("%s (%v; default: %s)", p.Doc, p.Kind, p.Default)
			constant := keys.OfTypes("string", "number", "boolean")
			constant["description"] = doc
			if p.Kind == cc.ChoiceKind {
				constant["examples"] = p.Choices
			}
			constants[p.Name] = constant
		}
		controllers[name] = keys.Schema{"type": "object", "properties": constants, "additionalProperties": false}
	}
	return keys.Schema{"type": "object", "properties": controllers}
}

func (v *Variant) keys() keys.Table {
	return keys.Table{
		keys.Matching("name", &v.Name, NamePattern, "a variant's name "+fileNameRule).Need().Means(
			"name of the variant in `--cc`, tables and reports, and of its results folder"),
		keys.Text("cc", &v.CC).Need().Means("the controller"),
		keys.Other("set", "mapping", anyMapping).Means(
			"constants of the controller; they override those under the scenario's `cc`"),
		keys.Other("switch", "mapping", defined("switch")).Means(
			"settings of every switch that differ from the scenario's `switch`"),
		keys.Other("host", "mapping", defined("host")).Means(
			"settings of every host that differ from the scenario's `host`"),
	}
}
