-- wrk's requests for 256 KiB of a video: videos by Zipf's law (exponent 0.8), places in them uniformly.
-- Arguments: a file whose lines are the videos' names and sizes.
local threads = 0

function setup(thread)
  threads = threads + 1
  thread:set("seed", threads)
end

function init(args)
  math.randomseed(seed)
  names, sizes, cumulative, total = {}, {}, {}, 0
  for line in io.lines(args[1]) do
    local name, size = line:match("(%S+) (%d+)")
    names[#names + 1], sizes[#sizes + 1] = name, tonumber(size)
    total = total + (#names) ^ -0.8
    cumulative[#names] = total
  end
end

function request()
  local wanted, i = math.random() * total, 1
  while cumulative[i] < wanted do i = i + 1 end
  local first = math.random(0, math.max(0, sizes[i] - 262144))
  return wrk.format("GET", "/" .. names[i], {Range = "bytes=" .. first .. "-" .. first + 262143})
end
