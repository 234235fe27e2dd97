// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package scopesync

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"

	"github.com/bulkhead-k8s/bulkhead/components/nodescope/scopeindex"
	"github.com/bulkhead-k8s/bulkhead/components/nodescope/scopelist"
)

const (
	// interval is that of turns.
	interval = 2 * time.Second
	// longestTurn keeps an API server that does not answer from stopping all.
	longestTurn = 30 * time.Second
	// maxProblem bounds what is told of one thing that is wrong.
	maxProblem = 400
)

// Config is what a [Syncer] works with. Every field is needed.
type Config struct {
	// Client may list and watch accounts and pods, get accounts, and get and patch the
	// ConfigMap of the records.
	Client kubernetes.Interface
	// Metadata may list pods.
	Metadata metadata.Interface
	// Events records the events about accounts.
	Events record.EventRecorder
	// Watch returns a view that keeps the annotations current once it runs.
	Watch func(*scopeindex.Annotations) View
	// Loaded asks the API server that reads the two files what it has loaded.
	Loaded func(context.Context) (LoadedFiles, error)
	// Seen ask the two components that decide what they have seen of annotations.
	Seen [2]Decider
	// NodeName is that of the Node of this host.
	NodeName string
	// The two files.
	Authorization, Admission *ListFile
	// Heartbeat is the file that probes look at.
	Heartbeat string
}

// View watches the ServiceAccounts and pods of the cluster.
type View interface {
	// Run watches until ctx is done.
	Run(ctx context.Context)
	// HasSynced reports whether the view has listed the cluster once.
	HasSynced() bool
	// Unready says, as the end of a sentence, why the view is not current; empty if it is.
	Unready() string
}

// Decider is a component on this host that decides by what annotations say: the first
// authorizes, the second admits.
type Decider struct {
	Name string
	Ask  func(context.Context) (SeenVersions, error)
}

// Syncer keeps the lists of one host. Use [New].
type Syncer struct {
	Config
	index *scopeindex.Annotations
	view  View

	// All that follows is Run's alone.
	lists   [2]*list
	polling retry
	loaded  LoadedFiles
	kept    map[scopelist.Account]kept
	// seen is what each component that decides said last.
	seen [2]SeenVersions
	// wanted are the accounts that have a scope, in the order in which they get a place;
	// beyond are those that got none.
	wanted   []scopelist.Candidate
	beyond   map[scopelist.Account]bool
	details  map[scopelist.Account]scopelist.Detail
	recorder recorder
	teller   teller
	// problems are what is wrong in this turn; notices are what only the cluster can change,
	// such as a list that is full.
	problems, notices []string
	said              string
}

// list is a file with what a Syncer knows of it.
type list struct {
	file    *ListFile
	of      func(LoadedFiles) LoadedFile
	writing retry
	// listed is what it lists now; readable is false if nobody can tell.
	listed   []scopelist.Account
	readable bool
	// live is what the list in force on the server lists; nil if nobody can tell.
	live map[scopelist.Account]bool
}

// New prepares to keep the lists. Nothing is read before [Syncer.Run].
func New(config Config) *Syncer {
	s := &Syncer{Config: config, index: scopeindex.NewAnnotations(), kept: map[scopelist.Account]kept{}}
	s.view = config.Watch(s.index)
	s.lists = [2]*list{
		{file: config.Authorization, of: func(l LoadedFiles) LoadedFile { return l.Authorization }},
		{file: config.Admission, of: func(l LoadedFiles) LoadedFile { return l.Admission }},
	}
	s.recorder = recorder{client: config.Client, node: config.NodeName}
	s.teller = newTeller(config, s.index)
	return s
}

// Run keeps the lists until ctx is done. What goes wrong is told and tried again. It must
// be called once only.
func (s *Syncer) Run(ctx context.Context) {
	var watching sync.WaitGroup
	watching.Go(func() { s.view.Run(ctx) })
	defer watching.Wait()
	s.recall(ctx)
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		s.turn(ctx)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func (s *Syncer) recall(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, interval)
	defer cancel()
	s.details = s.recorder.recall(ctx)
}

// turn does everything once.
func (s *Syncer) turn(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, longestTurn)
	defer cancel()
	s.problems, s.notices = nil, nil
	s.look()
	why := s.view.Unready()
	if why != "" {
		s.problem("this process " + why + ", so the lists stay as they are")
	} else {
		s.write(ctx)
	}
	s.ask(ctx)
	s.askSeen(ctx)
	states := s.states()
	if why == "" {
		s.teller.tell(ctx, s.wanted, s.beyond, states)
	}
	problem := s.all()
	s.teller.complain(problem)
	if errors.Is(ctx.Err(), context.Canceled) {
		return
	}
	s.problem(s.recorder.record(ctx, scopelist.Record{
		Time: time.Now(), Problem: problem, Accounts: states, Details: maps.Clone(s.details),
	}))
	s.say(klog.FromContext(ctx))
}

// problem notes what is wrong in this turn, each once; nothing if text is empty.
func (s *Syncer) problem(text string) { s.problems = noted(s.problems, text) }

// notice notes what no installation and no restart could mend: the pod stays ready.
func (s *Syncer) notice(text string) { s.notices = noted(s.notices, text) }

func noted(all []string, text string) []string {
	// The server's loaders repeat the whole list.
	text = strings.ToValidUTF8(text[:min(len(text), maxProblem)], "")
	if text == "" || slices.Contains(all, text) {
		return all
	}
	return append(all, text)
}

// all is what is wrong, for people.
func (s *Syncer) all() string { return strings.Join(slices.Concat(s.problems, s.notices), "; ") }

// say tells the log what is new, and probes that this process works.
func (s *Syncer) say(logger klog.Logger) {
	problem := s.all()
	switch problem {
	case s.said:
	case "":
		logger.Info("Nothing is wrong any more")
	default:
		logger.Error(nil, "Not all is well, and will be tried again", "problem", problem)
	}
	s.said = problem
	if err := WriteHeartbeat(s.Heartbeat, strings.Join(s.problems, "; ")); err != nil {
		logger.Error(err, "Telling probes")
	}
}
