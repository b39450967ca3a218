# Beaneater as its README uses it: what a program sees, a line each. Ids are not printed, they differ.
require 'beaneater'
require 'json'
require 'timeout'

port, name = ARGV

def say(what, value)
  puts "#{what}: #{JSON.generate(value)}"
end

def state(job)
  stats = job.stats
  [stats.state, stats.pri, stats.ttr, stats.reserves, stats.timeouts, stats.releases, stats.buries,
   stats.kicks, stats.tube]
end

def refused
  yield
  'nothing'
rescue StandardError => error
  error.class.name
end

beanstalk = Beaneater.new("127.0.0.1:#{port}")
tube = beanstalk.tubes[name]
tube.put '{ "key" : "foo" }', pri: 5
tube.put '{ "key" : "bar" }', delay: 30
say 'ready', tube.peek(:ready).body
say 'delayed', tube.peek(:delayed).body
say 'buried', tube.peek(:buried)
while tube.peek(:ready)
  job = tube.reserve
  say 'job value', [JSON.parse(job.body)['key'], state(job), job.reserved?, job.ttr, job.tube]
  job.delete
  say 'exists', job.exists?
end
tube.kick(3)
beanstalk.tubes.watch!(name)
say 'watched', beanstalk.tubes.watched.map(&:name)
say 'listed', beanstalk.tubes.all.map(&:name).include?(name)
job = beanstalk.tubes.reserve(5)
job.touch
job.release delay: 40, pri: 8
say 'released', state(job)
tube.kick(1)
job = beanstalk.tubes.reserve(5)
job.bury pri: 3
say 'buried', [state(job), tube.peek(:buried).body]
say 'no job', refused { beanstalk.tubes.reserve(0) }
tube.kick(3)
say 'kicked', state(job)
say 'found', beanstalk.jobs.find(job.id).body
say 'not found', beanstalk.jobs[999_999_999].inspect
tube.pause(60)
say 'paused', [tube.stats.pause, refused { beanstalk.tubes.reserve(0) }]
tube.pause(0)
say 'tube', [tube.stats.name, tube.stats.current_jobs_ready, tube.stats.current_watching,
             tube.stats.total_jobs]
say 'a bad name', refused { beanstalk.tubes['a b'].put 'x' }
say 'too big', refused { tube.put 'x' * (2 << 20) }
beanstalk.close

# processed by themselves
beanstalk = Beaneater.new("127.0.0.1:#{port}")
%w[one two fails retried stop].each { |body| beanstalk.tubes[name].put body }
tries = 0
beanstalk.jobs.register(name, retry_on: [Timeout::Error]) do |each|
  say 'works at', each.body
  raise ArgumentError if each.body == 'fails'
  raise Timeout::Error if each.body == 'retried' && (tries += 1) == 1
  raise Beaneater::AbortProcessingError if each.body == 'stop'
end
beanstalk.jobs.process!
say 'failed', beanstalk.tubes[name].peek(:buried).body
beanstalk.tubes[name].clear
stats = beanstalk.stats
say 'stats', [stats.current_jobs_buried, stats.cmd_put >= 7, stats.total_jobs >= 7, stats.draining]
beanstalk.close
