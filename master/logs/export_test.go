package logs

import (
	"context"
	"time"

	"github.com/detent-ml/detent/master/database"
)

// For tests, which are in another package because they use store, which imports this one.
const (
	ChunkBatch        = chunkBatch
	ExpiredChunks     = expiredChunks
	FoundLines        = foundLines
	MaxBatches        = maxBatches
	MaxCounted        = maxCounted
	MaxKindsPerBatch  = maxKindsPerBatch
	MaxLabel          = maxLabel
	MaxLabelsPerTask  = maxLabelsPerTask
	MaxLine           = maxLine
	MaxMovedChunks    = maxMovedChunks
	MaxOriginsPerTask = maxOriginsPerTask
	MaxSearch         = maxSearch
	MaxShippers       = maxShippers
	PartitionsAhead   = partitionsAhead
	NotAllSearched    = notAllSearched
	SearchRate        = searchRate
	SearchedLogs      = searchedLogs
	WarningLevel      = warningLevel
)

func (b *Batch) Check() error { return b.check() }

// Prepare does what Append does before the group commit.
func (s *Store) Prepare(b *Batch) {
	s.sanitizeLines(b)
	b.chunks = s.codec.Pack(b.Lines)
}

func (s *Store) Flush(batch []*database.Queued[*Batch])  { s.flush(batch) }
func (s *Store) Cached(task string) any                  { return s.tasks[task] }
func (s *Store) FirstOf(task string, now time.Time) bool { return s.firstOf(task, now) }
func (s *Store) SetMaxBytes(n int64)                     { s.set.MaxBytes = n }
func (s *Store) Packed(lines []Line) []byte              { return s.codec.Pack(lines)[0].Body }
func (r *Reader) SetPerCall(work int64)                  { r.perCall = work }
func (r *Reader) Work() int64                            { return r.work }

// A Searcher is the owner of tasks.
type Searcher = searcher

func (s *searcher) Left() int64                  { return s.left }
func (s *searcher) Set(left int64, at time.Time) { s.left, s.at = left, at }
func (s *searcher) At() time.Time                { return s.at }
func (s *searcher) Refill(now time.Time)         { s.refill(now) }

// SearcherOf returns the owner of a task.
func (s *Store) SearcherOf(ctx context.Context, task string) (*Searcher, error) {
	k, err := s.watch.task(ctx, task, s.watch.version)
	if err != nil {
		return nil, err
	}
	return k.owner, nil
}

// Searcher returns the owner with a number.
func (s *Store) Searcher(owner int) *Searcher { return s.watch.searcher(owner, time.Now()) }

// MatchChunks matches the lines of the first chunk of a log, and after then() those of the second.
func (r *Reader) MatchChunks(ctx context.Context, then func()) (first, second, err error) {
	if err := r.refresh(ctx); err != nil {
		return nil, nil, err
	}
	chunks, _, err := r.chunks(ctx, `first >= $3 AND first < $4 ORDER BY first`, 1, r.log.Next)
	if err != nil {
		return nil, nil, err
	}
	r.work = r.perCall
	_, _, first = r.records(ctx, &chunks[0], false)
	then()
	_, _, second = r.records(ctx, &chunks[1], false)
	return first, second, nil
}

// MatcherOf returns the matcher of the policies for a writer.
func (p *Policies) MatcherOf(ctx context.Context, from Writer) (any, error) {
	list, err := p.of(ctx, from)
	if err != nil {
		return nil, err
	}
	return p.matcherOf(list)
}
