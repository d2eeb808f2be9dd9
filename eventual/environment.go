package eventual

// environment is what the receivers, leases and handlers of one worker share.
type environment struct {
	opt      settings
	stats    counters
	handlers registry

	notifications, poison, cleanUps queueClient // cleanUps has no client without WorkerOptions.CleanUp
}
