package cluster

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

const victimFolder = "ROLLOUT_SIM_VICTIM_FOLDER"

// TestMain becomes the process that TestKilledTestLeavesNothing kills when asked to.
func TestMain(m *testing.M) {
	if dir := os.Getenv(victimFolder); dir != "" {
		if err := beVictim(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

// beVictim starts a program that has a child of its own, says their group and waits.
func beVictim(dir string) error {
	w, err := newWatchdog(dir)
	if err != nil {
		return err
	}
	p, err := startProcess(dir, "sleeper", "/bin/sh", []string{"-c", "sleep 600 & sleep 600; wait"})
	if err != nil {
		return err
	}
	if err := w.started(p); err != nil {
		return err
	}
	fmt.Println(p.pid())
	select {}
}

func TestKilledTestLeavesNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cluster")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	victim := exec.Command(os.Args[0])
	victim.Env = append(os.Environ(), victimFolder+"="+dir)
	out, err := victim.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	group, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	if syscall.Kill(-group, 0) != nil {
		t.Fatal("the program does not run")
	}
	if err := victim.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = victim.Wait() // it was killed
	eventually(t, "the program and its child end", func() bool { return !running(group) })
	eventually(t, "the folder goes", func() bool { return !exists(dir) })
}

// running says that a process of a group lives; one that has ended may stay
// listed until its new parent looks.
func running(group int) bool {
	if syscall.Kill(-group, 0) != nil {
		return false
	}
	out, err := exec.Command("ps", "-A", "-o", "pgid=,stat=").Output()
	if err != nil {
		return true
	}
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		if len(words) == 2 && words[0] == strconv.Itoa(group) && !strings.HasPrefix(words[1], "Z") {
			return true
		}
	}
	return false
}

func eventually(t *testing.T, what string, happened func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if happened() {
			return
		}
	}
	t.Fatalf("%s: not within 10 s", what)
}

func TestNormalEndRemovesTheFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cluster")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	w, err := newWatchdog(dir)
	if err != nil {
		t.Fatal(err)
	}
	p, err := startProcess(dir, "sleeper", "/bin/sleep", []string{"600"})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.started(p); err != nil {
		t.Fatal(err)
	}
	p.kill()
	if err := w.ended(p); err != nil {
		t.Fatal(err)
	}
	if err := w.close(); err != nil {
		t.Fatal(err)
	}
	if exists(dir) {
		t.Error("the folder is still there")
	}
}
