// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	api "github.com/bulkhead-k8s/bulkhead/components/apis/nodeisolationreport"
	"github.com/bulkhead-k8s/bulkhead/components/isolationreport"
	"github.com/bulkhead-k8s/bulkhead/components/isolationreport/fixture"
	"github.com/bulkhead-k8s/bulkhead/components/isolationreport/render"
)

var screenshots = flag.String("screenshots", "", "a folder for pictures of every page, also of those in docs")

// pages are the names of the files that writePages writes.
var pages = []string{"hardened", "in-tree", "compare", "index"}

// Widths of screens, in pixels.
const (
	phone   = 360
	desktop = 1280
)

var (
	written  sync.Once
	folder   string
	problems error
)

func TestMain(m *testing.M) {
	flag.Parse()
	code := m.Run()
	stopBrowser()
	if folder != "" {
		_ = os.RemoveAll(folder)
	}
	os.Exit(code)
}

// writePages writes all pages of invented results once, and returns their folder.
func writePages(t *testing.T) string {
	t.Helper()
	written.Do(func() { folder, problems = writeAll() })
	if problems != nil {
		t.Fatal(problems)
	}
	return folder
}

func writeAll() (string, error) {
	dir, err := os.MkdirTemp("", "reports-")
	if err != nil {
		return "", err
	}
	var reports []*api.NodeIsolationReport
	for _, profile := range []string{"in-tree", "hardened"} {
		report, err := isolationreport.Build(isolationreport.Groups(), fixture.Results(profile))
		if err != nil {
			return dir, err
		}
		reports = append(reports, report)
		if err := save(dir, profile, func(b *bytes.Buffer) error { return render.HTML(b, report) }); err != nil {
			return dir, err
		}
	}
	c := isolationreport.Compare(reports[0], reports[1])
	err = save(dir, "compare", func(b *bytes.Buffer) error {
		return render.CompareHTML(b, c, render.Links{First: "in-tree.html", Second: "hardened.html"})
	})
	if err != nil {
		return dir, err
	}
	err = save(dir, "index", func(b *bytes.Buffer) error { return render.FrontPage(b, c, ".") })
	return dir, errors.Join(err, copyPublished(dir))
}

// published are the pages of docs, which are made from a run. They have more rows than the others.
var published = []string{"published/index", "published/reports/in-tree", "published/reports/hardened",
	"published/reports/compare"}

func copyPublished(dir string) error {
	docs := os.DirFS(filepath.Join("..", "..", "..", "docs"))
	for _, name := range published {
		page, err := fs.ReadFile(docs, strings.TrimPrefix(name, "published/")+".html")
		if err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name+".html"), page, 0o600); err != nil {
			return err
		}
	}
	return nil
}

func save(dir, name string, write func(*bytes.Buffer) error) error {
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, name+".html"), b.Bytes(), 0o600)
}

// requiredVariable is set to true by `make test`. A browser that is not installed is then a failure.
const requiredVariable = "BULKHEAD_BROWSER_REQUIRED"

const notInstalled = "cannot test the pages of reports: Chromium is not installed; run apt-get install chromium"

// find returns the path of the browser, or "" if none is installed.
func find() string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// program returns the path of the browser, or skips the test.
func program(t *testing.T) string {
	t.Helper()
	path := find()
	if path == "" {
		t.Skip(notInstalled)
	}
	return path
}

// TestBrowserIsInstalled is the one failure of `make test` on a machine without a browser.
func TestBrowserIsInstalled(t *testing.T) {
	switch {
	case find() != "":
	case os.Getenv(requiredVariable) == "true":
		t.Error(notInstalled)
	default:
		t.Skip(notInstalled)
	}
}

var (
	started sync.Once
	// browser is the browser of all tests. Each page has its own tab.
	browser     context.Context
	stopBrowser = func() {}
)

// start starts the browser once.
func start(path string) context.Context {
	started.Do(func() {
		options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox,
			chromedp.Flag("disable-dev-shm-usage", true))
		allocator, cancel := chromedp.NewExecAllocator(context.Background(), options...)
		ctx, stop := chromedp.NewContext(allocator)
		stopBrowser = func() { stop(); cancel() }
		browser = ctx
		problems = chromedp.Run(ctx)
	})
	return browser
}

// tab is one page in the browser.
type tab struct {
	t     *testing.T
	ctx   context.Context
	close func()
	// mu guards what the page did that it must not.
	mu   sync.Mutex
	done []string
}

// screen is how a reader looks at a page.
type screen struct {
	width        int64
	theme, media string
	noScript     bool
}

// open opens a page in a new tab. The test fails if the page requests anything else, or if its script
// fails.
func open(t *testing.T, s screen, name string) *tab {
	t.Helper()
	parent := start(program(t))
	dir := writePages(t)
	ctx, cancelTab := chromedp.NewContext(parent)
	ctx, cancel := context.WithTimeout(ctx, 90*time.Second)
	one := &tab{t: t, ctx: ctx}
	one.close = sync.OnceFunc(func() { one.check(); cancel(); cancelTab() })
	t.Cleanup(one.close)
	chromedp.ListenTarget(ctx, one.watch)
	height := int64(900)
	if s.width == phone {
		height = 780
	}
	one.run(
		network.Enable(), runtime.Enable(), log.Enable(),
		emulation.SetDeviceMetricsOverride(s.width, height, 1, s.width == phone),
		emulation.SetEmulatedMedia().WithMedia(s.media).WithFeatures([]*emulation.MediaFeature{
			{Name: "prefers-color-scheme", Value: s.theme}, {Name: "prefers-reduced-motion", Value: "reduce"},
		}),
		emulation.SetScriptExecutionDisabled(s.noScript),
		chromedp.Navigate("file://"+filepath.Join(dir, name)),
	)
	if !s.noScript {
		// The page follows a link to a rule after it has loaded.
		one.run(chromedp.Evaluate(`new Promise((done) => setTimeout(done, 50))`, nil,
			func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }))
	}
	return one
}

// watch records requests other than for pages, and what the console says.
func (p *tab) watch(event any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		if !strings.HasPrefix(e.Request.URL, "file://") && !strings.HasPrefix(e.Request.URL, "data:") {
			p.done = append(p.done, "requested "+e.Request.URL)
		}
	case *runtime.EventExceptionThrown:
		p.done = append(p.done, "threw "+e.ExceptionDetails.Error())
	case *log.EventEntryAdded:
		p.done = append(p.done, "logged "+e.Entry.Text)
	case *page.EventJavascriptDialogOpening:
		p.done = append(p.done, "opened a dialog: "+e.Message)
	}
}

func (p *tab) check() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, what := range p.done {
		p.t.Errorf("the page %s", what)
	}
}

func (p *tab) run(actions ...chromedp.Action) {
	p.t.Helper()
	if err := chromedp.Run(p.ctx, actions...); err != nil {
		p.t.Fatal(err)
	}
}

// eval returns the value of an expression in the page.
func eval[T any](p *tab, expression string) T {
	p.t.Helper()
	var value T
	p.run(chromedp.Evaluate(expression, &value))
	return value
}
