package report

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// browser is a headless Chromium with one page, driven over a pipe by the
// Chrome DevTools Protocol.
type browser struct {
	t       *testing.T
	to      *os.File
	answers chan message
	session string
	last    int
	events  []message
}

type message struct {
	ID     int             `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct{ Message string }
}

// patience is how long the browser may take for anything: CI machines are slow.
const patience = time.Minute

// browserPath is where Chromium is; empty where there is none.
func browserPath() string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			return found
		}
	}
	return ""
}

// newBrowser starts one, or skips the test where there is none.
func newBrowser(t *testing.T) *browser {
	t.Helper()
	path := browserPath()
	if path == "" {
		t.Skip("no chromium to open the page in")
	}
	fromUs, to := pipe(t)
	from, toUs := pipe(t)
	cmd := exec.Command(path, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
		"--disable-background-networking", "--user-data-dir="+t.TempDir(), "--remote-debugging-pipe")
	cmd.ExtraFiles = []*os.File{fromUs, toUs}
	if err := cmd.Start(); err != nil {
		t.Skipf("chromium does not start: %v", err)
	}
	fromUs.Close()
	toUs.Close()
	b := &browser{t: t, to: to, answers: make(chan message, 1000)}
	go read(from, b.answers)
	t.Cleanup(func() {
		b.session = ""
		b.do("Browser.close", nil)
		_ = cmd.Wait()
	})
	b.open()
	return b
}

func pipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	return r, w
}

func read(from *os.File, answers chan<- message) {
	defer close(answers)
	in := bufio.NewReader(from)
	for {
		data, err := in.ReadBytes(0)
		if err != nil {
			return
		}
		var m message
		if json.Unmarshal(data[:len(data)-1], &m) == nil {
			answers <- m
		}
	}
}

// open attaches to a page and listens to all that may go wrong in it.
func (b *browser) open() {
	var target struct{ TargetID string }
	b.into(&target, "Target.createTarget", map[string]any{"url": "about:blank"})
	var attached struct{ SessionID string }
	b.into(&attached, "Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true})
	b.session = attached.SessionID
	for _, domain := range []string{"Page", "Runtime", "Network", "Log"} {
		b.do(domain+".enable", nil)
	}
}

func (b *browser) into(result any, method string, params map[string]any) {
	b.t.Helper()
	if err := json.Unmarshal(b.do(method, params), result); err != nil {
		b.t.Fatal(err)
	}
}

// do sends a command and waits for its answer; events on the way are kept.
func (b *browser) do(method string, params map[string]any) json.RawMessage {
	b.t.Helper()
	b.last++
	command := map[string]any{"id": b.last, "method": method, "params": params}
	if params == nil {
		command["params"] = map[string]any{}
	}
	if b.session != "" {
		command["sessionId"] = b.session
	}
	data, err := json.Marshal(command)
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := b.to.Write(append(data, 0)); err != nil {
		b.t.Fatalf("%s: %v", method, err)
	}
	m := b.next(func(m message) bool { return m.ID == b.last }, method)
	if m.Error != nil {
		b.t.Fatalf("%s: %s", method, m.Error.Message)
	}
	return m.Result
}

func (b *browser) next(wanted func(message) bool, what string) message {
	b.t.Helper()
	limit := time.After(patience)
	for {
		select {
		case m, ok := <-b.answers:
			if !ok {
				b.t.Fatalf("%s: chromium has ended", what)
			}
			if wanted(m) {
				return m
			}
			b.events = append(b.events, m)
		case <-limit:
			b.t.Fatalf("%s: no answer", what)
		}
	}
}

// visit loads a page from a file.
func (b *browser) visit(html []byte) {
	b.t.Helper()
	path := filepath.Join(b.t.TempDir(), "report.html")
	if err := os.WriteFile(path, html, 0o600); err != nil {
		b.t.Fatal(err)
	}
	b.do("Page.navigate", map[string]any{"url": "file://" + path})
	b.next(func(m message) bool { return m.Method == "Page.loadEventFired" }, "loading")
}

// size sets the window, scheme the user's taste in colours.
func (b *browser) size(width, height int) {
	b.do("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false})
}

func (b *browser) scheme(name string) {
	b.do("Emulation.setEmulatedMedia", map[string]any{"features": []any{map[string]any{"name": "prefers-color-scheme", "value": name}}})
}

// eval is the value of an expression, as text.
func (b *browser) eval(expression string) string {
	b.t.Helper()
	var out struct {
		Result           struct{ Value any }
		ExceptionDetails json.RawMessage
	}
	b.into(&out, "Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true})
	if out.ExceptionDetails != nil {
		b.t.Fatalf("%s: %s", expression, out.ExceptionDetails)
	}
	return fmt.Sprint(out.Result.Value)
}

// press presses keys, as a person would.
func (b *browser) press(keys ...string) {
	for _, key := range keys {
		for _, kind := range []string{"rawKeyDown", "keyUp"} {
			b.do("Input.dispatchKeyEvent", map[string]any{"type": kind, "key": key, "code": key})
		}
	}
}

// click clicks a place inside the first element that a selector finds, given in
// parts of its width and height.
func (b *browser) click(selector string, x, y float64) {
	b.t.Helper()
	var at struct{ X, Y float64 }
	box := b.eval(fmt.Sprintf(`(() => { const e = document.querySelector(%q); e.scrollIntoView({block: "center"}); const r = e.getBoundingClientRect();
		return JSON.stringify({x: r.left + r.width * %g, y: r.top + r.height * %g}); })()`, selector, x, y))
	if err := json.Unmarshal([]byte(box), &at); err != nil {
		b.t.Fatal(err)
	}
	for _, kind := range []string{"mouseMoved", "mousePressed", "mouseReleased"} {
		b.do("Input.dispatchMouseEvent", map[string]any{"type": kind, "x": at.X, "y": at.Y, "button": "left", "clickCount": 1})
	}
}

// screenshot is a picture of what the window shows.
func (b *browser) screenshot(path string) {
	b.t.Helper()
	var out struct{ Data string }
	b.into(&out, "Page.captureScreenshot", map[string]any{"captureBeyondViewport": false})
	b.save(path, out.Data)
}

// print is the page on paper, as a PDF.
func (b *browser) print(path string) {
	b.t.Helper()
	var out struct{ Data string }
	b.into(&out, "Page.printToPDF", map[string]any{"printBackground": false})
	b.save(path, out.Data)
}

func (b *browser) save(path, data string) {
	b.t.Helper()
	raw, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		b.t.Fatal(err)
	}
}

// complaints are what went wrong in the page, and what it asked the network for.
func (b *browser) complaints() []string {
	b.t.Helper()
	b.eval("1") // all that came before has been read
	var out []string
	for _, m := range b.events {
		switch m.Method {
		case "Runtime.exceptionThrown", "Log.entryAdded":
			out = append(out, m.Method+" "+string(m.Params))
		case "Network.requestWillBeSent":
			var sent struct{ Request struct{ URL string } }
			if err := json.Unmarshal(m.Params, &sent); err != nil {
				b.t.Fatal(err)
			}
			if filepath.Base(sent.Request.URL) != "report.html" {
				out = append(out, "request "+sent.Request.URL)
			}
		}
	}
	return out
}
