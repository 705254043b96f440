package dist

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"text/template"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/rollout-sim/kubectl-rollout-sim/test/cluster"
)

const root = "../.."

// TestKrew installs the release with krew and uses it through kubectl; the
// scripts in testdata tell how.
func TestKrew(t *testing.T) {
	r := made(t)
	archive := r.archive(r.host(t))
	if *toolsFlag == "" {
		t.Fatal("-tools is not given")
	}
	programs, err := cluster.Build(t.Context(), t.Output(), cluster.Kubectl)
	if err != nil {
		t.Fatal(err)
	}
	examples, err := filepath.Abs(filepath.Join(root, "examples"))
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata", RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("ARCHIVE", archive)
			env.Setenv("VERSION", "v"+r.Version)
			env.Setenv("EXAMPLES", examples)
			env.Setenv("KREW_ROOT", filepath.Join(env.WorkDir, "krew"))
			env.Setenv("KUBECONFIG", filepath.Join(env.WorkDir, "no-such-kubeconfig"))
			env.Setenv("NO_COLOR", "1")
			// krew's plugins first, as its users set it up.
			env.Setenv("PATH", filepath.Join(env.WorkDir, "krew", "bin")+string(filepath.ListSeparator)+
				filepath.Dir(programs[cluster.Kubectl])+string(filepath.ListSeparator)+
				*toolsFlag+string(filepath.ListSeparator)+env.Getenv("PATH"))
			return writeManifest(filepath.Join(env.WorkDir, "rollout-sim.yaml"), r, r.checksums(t))
		},
	})
}

// writeManifest makes of krew.yaml what krew-release-bot makes of it, with the
// sums of this release.
func writeManifest(to string, r release, sums map[string]string) error {
	tag := map[string]string{"TagName": "v" + r.Version}
	// An archive's address is a template itself. The bot indents the second line
	// as krew.yaml does the first.
	addURIAndSha := func(address, _ string) (string, error) {
		uri, err := fill("address", address, tag, nil)
		if err != nil {
			return "", err
		}
		sum := sums[path.Base(uri)]
		if sum == "" {
			return "", fmt.Errorf("the release has no %s", path.Base(uri))
		}
		return fmt.Sprintf("uri: %s\n    sha256: %s", uri, sum), nil
	}
	text, err := os.ReadFile(filepath.Join(root, "krew.yaml"))
	if err != nil {
		return err
	}
	manifest, err := fill("krew.yaml", string(text), tag, template.FuncMap{"addURIAndSha": addURIAndSha})
	if err != nil {
		return err
	}
	return os.WriteFile(to, []byte(manifest), 0o600)
}

func fill(name, text string, data map[string]string, funcs template.FuncMap) (string, error) {
	t, err := template.New(name).Option("missingkey=error").Funcs(funcs).Parse(text)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	err = t.Execute(&out, data)
	return out.String(), err
}
