package predict

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/term"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/rollout-sim/kubectl-rollout-sim/pkg/apis/v1alpha1"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/cli/command"
	"github.com/rollout-sim/kubectl-rollout-sim/pkg/view"
)

// Show prints a finished plan.
type Show func(io.Writer, *v1alpha1.RolloutPlan) error

// Printer finds who prints the format. A bad format, template or choice is an
// error before anything is simulated.
func (o Output) Printer(out io.Writer) (Show, error) {
	human, err := o.human(out)
	if err != nil {
		return nil, err
	}
	if err := o.Pictures.Check(o.Format); err != nil {
		return nil, err
	}
	if show := forCI(o.Format, nil); show != nil {
		return show, nil
	}
	switch o.Format {
	case "", "wide":
		return human, nil
	case "json":
		return view.JSON, nil
	case "yaml":
		return view.YAML, nil
	case "jsonl":
		return view.JSONL, nil
	}
	return template[*v1alpha1.RolloutPlan](o.Format, "jsonl", "junit", "markdown", "wide")
}

// human is the view for people.
func (o Output) human(out io.Writer) (Show, error) {
	options, err := o.ViewOptions(out)
	return func(w io.Writer, plan *v1alpha1.RolloutPlan) error {
		if err := view.Human(w, plan, options); err != nil {
			return err
		}
		return o.Pictures.Draw(w, plan, options)
	}, err
}

// ViewOptions are how people see it, as wide as the terminal.
func (o Output) ViewOptions(out io.Writer) (view.Options, error) {
	depth, err := command.ParseDetail(o.Detail)
	if err != nil {
		return view.Options{}, err
	}
	color, err := view.ParseColor(o.Color)
	if err != nil {
		return view.Options{}, fmt.Errorf("--color must be one of [always auto never], not %q", o.Color)
	}
	if o.MaxPodLines < 0 || o.Width < 0 {
		return view.Options{}, fmt.Errorf("--max-pod-lines and --width must not be negative")
	}
	width := o.Width
	if file, ok := out.(*os.File); ok && width == 0 {
		// Off a terminal this is an error, and the view's own width holds.
		width, _, _ = term.GetSize(int(file.Fd()))
	}
	return view.Options{Detail: depth, MaxPodLines: o.MaxPodLines, Width: width, Wide: o.Format == "wide", Color: color}, nil
}

// Other finds who prints one of the kinds that are no plan: human for no format.
func Other[K view.Kind](format string, human func(io.Writer, K) error) (func(io.Writer, K) error, error) {
	switch format {
	case "":
		return human, nil
	case "json":
		return view.JSON[K], nil
	case "yaml":
		return view.YAML[K], nil
	}
	return template[K](format)
}

// template is kubectl's own printer for jsonpath and go-template formats; also
// are formats that a wrong one could have been besides.
func template[K view.Kind](format string, also ...string) (func(io.Writer, K) error, error) {
	flags := genericclioptions.NewKubeTemplatePrintFlags()
	printer, err := flags.ToPrinter(format)
	if genericclioptions.IsNoCompatiblePrinterError(err) {
		allowed := append(append(flags.AllowedFormats(), "json", "yaml"), also...)
		slices.Sort(allowed)
		return nil, fmt.Errorf("unable to match a printer suitable for the output format %q, allowed formats are: %s", format, strings.Join(allowed, ","))
	}
	if err != nil {
		return nil, err
	}
	return func(w io.Writer, kind K) error {
		object, err := view.Object(kind)
		if err != nil {
			return err
		}
		return printer.PrintObj(object, w)
	}, nil
}
