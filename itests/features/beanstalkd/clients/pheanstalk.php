<?php
// Pheanstalk 4 as its README uses it: what a program sees, a line each. Ids are not printed, they differ.
require 'Pheanstalk/autoload.php';

use Pheanstalk\Pheanstalk;

[, $port, $tube] = $argv;

function connect(string $port): Pheanstalk
{
    return Pheanstalk::create('127.0.0.1', (int) $port);
}

function say(string $what, $value): void
{
    echo $what, ': ', json_encode($value), "\n";
}

function state($pheanstalk, $job): array
{
    $stats = $pheanstalk->statsJob($job);
    return [$stats->state, (int) $stats->pri, (int) $stats->ttr, (int) $stats->reserves,
            (int) $stats->timeouts, (int) $stats->releases, (int) $stats->buries, (int) $stats->kicks,
            trim($stats->tube, '"')];  // it does not know the quotes of beanstalkd 1.13
}

function refused(callable $call): string
{
    try {
        $call();
    } catch (\Exception $error) {
        return get_class($error);
    }
    return 'nothing';
}

$producer = connect($port);
$job = $producer->useTube($tube)->put("job payload goes here\n");
say('put', state($producer, $job));
$later = $producer->put(json_encode(['test' => 'data']), 7, 30, 60);
say('put with a delay', state($producer, $later));
say('peek delayed', $producer->peekDelayed()->getData());
say('peek ready', $producer->peekReady()->getData());
say('peek buried', $producer->peekBuried());
say('peek', $producer->peek($later)->getData());
say('used', $producer->listTubeUsed());

$worker = connect($port);
$worker->watch($tube);
$worker->ignore('default');
say('watched', $worker->listTubesWatched());
$job = $worker->reserve();
say('reserved', $job->getData());
$worker->touch($job);
say('reserved', state($worker, $job));
say('delete of another one', refused(fn() => $producer->delete($job)));
$worker->release($job, 5);
say('released', state($worker, $job));
$job = $worker->reserveWithTimeout(0);
$worker->bury($job, 9);
say('buried', state($worker, $job));
say('peek buried', $producer->peekBuried()->getData());
say('no job', $worker->reserveWithTimeout(0));
say('kick', $producer->kick(10));
say('kicked', state($worker, $job));
$worker->kickJob($later);
say('kicked job', state($worker, $later));
$producer->pauseTube($tube, 60);
say('paused', $worker->reserveWithTimeout(0));
say('paused', (int) $producer->statsTube($tube)->pause);
$producer->resumeTube($tube);
foreach ([1, 2] as $each) {
    $job = $worker->reserve();
    say('reserved', [$job->getData(), state($worker, $job)]);
    $worker->delete($job);
}
say('stats of a job that is gone', refused(fn() => $worker->statsJob($job)));
say('too big', refused(fn() => $producer->put(str_repeat('x', 2 << 20))));
say('a bad name', refused(fn() => $producer->useTube('-t')));
say('the last tube', refused(fn() => $worker->ignore($tube)));
say('an hour', $producer->put('held', 1024, 0, 3600) !== null);
$worker->reserve();
unset($worker);
$second = connect($port);
$second->watchOnly($tube);
$job = $second->reserve();
say('of a worker that has left', [$job->getData(), state($second, $job)]);
say('soon', [$producer->put('soon', 1024, 0, 1) !== null, $second->reserve()->getData(),
             refused(fn() => $second->reserve())]);
$stats = $producer->stats();
say('stats', [$stats['current-jobs-reserved'] >= 2, $stats['total-jobs'] >= 4, $stats['draining'],
              is_numeric($stats['pid']), in_array($tube, $producer->listTubes())]);
