package english_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/kubectl/pkg/cmd/set"
	"k8s.io/kubectl/pkg/util/i18n"

	_ "github.com/rollout-sim/kubectl-rollout-sim/pkg/cli/kubectl/english"
)

// asked has the commands, a line each, that a process of its own is asked about:
// which language its user has, a process finds out only once.
const asked = "ROLLOUT_SIM_ASKED"

func TestMain(m *testing.M) {
	if commands, ok := os.LookupEnv(asked); ok {
		if err := answer(commands); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// answer prints what kubectl says of its commands, and what it would say if its
// translations were loaded as it does it.
func answer(commands string) error {
	root := set.NewCmdSet(nil, genericiooptions.NewTestIOStreamsDiscard())
	var said []string
	for name := range strings.Lines(commands) {
		cmd, _, err := root.Find(strings.Fields(name)[1:])
		if err != nil {
			return err
		}
		said = append(said, cmd.Short)
	}
	if err := i18n.LoadTranslations("kubectl", nil); err != nil {
		return err
	}
	for _, text := range said {
		fmt.Printf("%s (it could say: %s)\n", text, i18n.T(text))
	}
	return nil
}

// TestEnglish lets users of several languages ask kubectl what its commands are for.
func TestEnglish(t *testing.T) {
	datadriven.RunTest(t, "testdata/english.txt", func(t *testing.T, d *datadriven.TestData) string {
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), "LC_ALL=", "LC_MESSAGES=", "LANG=", asked+"="+d.Input)
		for _, arg := range d.CmdArgs {
			cmd.Env = append(cmd.Env, arg.Key+"="+arg.Vals[0])
		}
		out, err := cmd.CombinedOutput()
		if err != nil {
			d.Fatalf(t, "%v\n%s", err, out)
		}
		return string(out)
	})
}
