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
	// interval is the time between turns.
	interval = 2 * time.Second
	// longestTurn is the timeout of one turn. It applies if an API server does not answer.
	longestTurn = 30 * time.Second
	// maxProblem is the maximum length of one problem, in bytes.
	maxProblem = 400
)

// Config is the configuration of a [Syncer]. Every field is required.
type Config struct {
	// Client needs permission to list and watch accounts and pods, to get accounts, and to get
	// and patch the ConfigMap of the records.
	Client kubernetes.Interface
	// Metadata needs permission to list pods.
	Metadata metadata.Interface
	// Events records the events about accounts.
	Events record.EventRecorder
	// Watch returns a view that keeps the annotations current while it runs.
	Watch func(*scopeindex.Annotations) View
	// Loaded returns which files the API server that reads the two files has loaded.
	Loaded func(context.Context) (LoadedFiles, error)
	// Seen are the two components that decide requests and writes. Each reports which
	// annotations it has seen.
	Seen [2]Decider
	// NodeName is the name of this host's Node.
	NodeName string
	// Authorization and Admission are the two files.
	Authorization, Admission *ListFile
	// Heartbeat is the path of the file that probes read.
	Heartbeat string
}

// View watches the ServiceAccounts and pods of the cluster.
type View interface {
	// Run watches until ctx is done.
	Run(ctx context.Context)
	// HasSynced reports whether the view has listed the cluster once.
	HasSynced() bool
	// Unready returns why the view is not current, as the end of a sentence; empty if it is
	// current.
	Unready() string
}

// Decider is a component on this host that decides by the annotations. The first one
// authorizes, the second one admits.
type Decider struct {
	Name string
	Ask  func(context.Context) (SeenVersions, error)
}

// Syncer keeps the lists of one host current. Use [New].
type Syncer struct {
	Config
	index *scopeindex.Annotations
	view  View

	// Only Run uses the fields below.
	lists   [2]*list
	polling retry
	loaded  LoadedFiles
	kept    map[scopelist.Account]kept
	// seen is the last answer of each component.
	seen [2]SeenVersions
	// wanted are the accounts with a scope, in the order in which they get a place. overShare are
	// the accounts without a place.
	wanted        []scopelist.Candidate
	overShare     map[scopelist.Account]bool
	details       map[scopelist.Account]scopelist.Detail
	recorder      recorder
	eventReporter eventReporter
	// problems are the errors of this turn. notices are conditions that only a change in the
	// cluster can remove, such as a full list.
	problems, notices []string
	said              string
}

// list is a file and its state.
type list struct {
	file    *ListFile
	of      func(LoadedFiles) LoadedFile
	writing retry
	// listed are the accounts in the file. readable is false if the file cannot be read.
	listed   []scopelist.Account
	readable bool
	// live are the accounts of the list in force on the server. It is nil if that list is not
	// known.
	live map[scopelist.Account]bool
}

// New returns a Syncer. It reads nothing before [Syncer.Run].
func New(config Config) *Syncer {
	s := &Syncer{Config: config, index: scopeindex.NewAnnotations(), kept: map[scopelist.Account]kept{}}
	s.view = config.Watch(s.index)
	s.lists = [2]*list{
		{file: config.Authorization, of: func(l LoadedFiles) LoadedFile { return l.Authorization }},
		{file: config.Admission, of: func(l LoadedFiles) LoadedFile { return l.Admission }},
	}
	s.recorder = recorder{client: config.Client, node: config.NodeName}
	s.eventReporter = newTeller(config, s.index)
	return s
}

// Run keeps the lists current until ctx is done. It reports errors and retries. It must be
// called only once.
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

// turn runs one turn.
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
		s.eventReporter.report(ctx, s.wanted, s.overShare, states)
	}
	problem := s.all()
	s.eventReporter.complain(problem)
	if errors.Is(ctx.Err(), context.Canceled) {
		return
	}
	s.problem(s.recorder.record(ctx, scopelist.Record{
		Time: time.Now(), Problem: problem, Accounts: states, Details: maps.Clone(s.details),
	}))
	s.say(klog.FromContext(ctx))
}

// problem adds an error of this turn. It ignores duplicates and an empty text.
func (s *Syncer) problem(text string) { s.problems = noted(s.problems, text) }

// notice adds a condition that a new installation or a restart would not remove. The pod stays
// ready.
func (s *Syncer) notice(text string) { s.notices = noted(s.notices, text) }

func noted(all []string, text string) []string {
	// Errors of the server's loaders can contain the whole list.
	text = strings.ToValidUTF8(text[:min(len(text), maxProblem)], "")
	if text == "" || slices.Contains(all, text) {
		return all
	}
	return append(all, text)
}

// all returns all problems and notices as text.
func (s *Syncer) all() string { return strings.Join(slices.Concat(s.problems, s.notices), "; ") }

// say logs a change of the problems, and writes the heartbeat.
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
