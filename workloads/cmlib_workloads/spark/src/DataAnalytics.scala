package cmlib

import org.apache.hadoop.conf.{Configuration, Configured}
import org.apache.hadoop.fs.Path
import org.apache.hadoop.io.{LongWritable, Text}
import org.apache.hadoop.mapreduce.{Job, Mapper, Reducer}
import org.apache.hadoop.mapreduce.lib.input.FileInputFormat
import org.apache.hadoop.mapreduce.lib.output.FileOutputFormat
import org.apache.hadoop.util.{Tool, ToolRunner}
import scala.collection.JavaConverters._
import scala.collection.mutable

class CountMapper extends Mapper[LongWritable, Text, Text, LongWritable] {
  private val (key, one) = (new Text, new LongWritable(1))

  override def map(offset: LongWritable, line: Text, context: Mapper[LongWritable, Text, Text, LongWritable]#Context): Unit = {
    val Array(label, text) = line.toString.split("\t")
    for (word <- text.split(" ")) {
      key.set(s"$label $word")
      context.write(key, one)
    }
  }
}

class SumReducer extends Reducer[Text, LongWritable, Text, LongWritable] {
  override def reduce(key: Text, counts: java.lang.Iterable[LongWritable], context: Reducer[Text, LongWritable, Text, LongWritable]#Context): Unit =
    context.write(key, new LongWritable(counts.asScala.map(_.get).sum))
}

/** Classifies each document by the counts of the first job, with Laplace's correction. */
class ClassifyMapper extends Mapper[LongWritable, Text, Text, LongWritable] {
  private val classes = 20
  private val counts = mutable.HashMap.empty[String, Array[Double]]
  private val totals = new Array[Double](classes)
  private val one = new LongWritable(1)

  override def setup(context: Mapper[LongWritable, Text, Text, LongWritable]#Context): Unit = {
    val folder = new Path(context.getConfiguration.get("cmlib.model"))
    val files = folder.getFileSystem(context.getConfiguration)
    for (file <- files.globStatus(new Path(folder, "part-*"))) {
      val stream = files.open(file.getPath)
      try for (line <- scala.io.Source.fromInputStream(stream, "UTF-8").getLines()) {
        val Array(label, word, count) = line.split("[ \t]")
        counts.getOrElseUpdate(word, new Array[Double](classes))(label.toInt) = count.toDouble
        totals(label.toInt) += count.toDouble
      } finally stream.close()
    }
  }

  override def map(offset: LongWritable, line: Text, context: Mapper[LongWritable, Text, Text, LongWritable]#Context): Unit = {
    val Array(label, text) = line.toString.split("\t")
    val scores = new Array[Double](classes)
    for (word <- text.split(" "); known <- counts.get(word); i <- scores.indices)
      scores(i) += math.log((known(i) + 1) / (totals(i) + counts.size))
    val right = scores.indexOf(scores.max) == label.toInt
    context.write(new Text(if (right) "right" else "wrong"), one)
  }
}

/** Naive Bayes as two jobs of MapReduce, training and classification: OUTPUT INPUT. */
object DataAnalytics extends Configured with Tool {
  def main(arguments: Array[String]): Unit = {
    val configuration = new Configuration
    configuration.setInt("mapreduce.local.map.tasks.maximum", 2)
    configuration.setInt("mapreduce.local.reduce.tasks.maximum", 2)
    configuration.setLong("mapreduce.input.fileinputformat.split.maxsize", 16L << 20)
    sys.exit(ToolRunner.run(configuration, this, arguments))
  }

  override def run(arguments: Array[String]): Int = {
    val Array(output, input) = arguments
    getConf.set("hadoop.tmp.dir", s"$output/tmp")
    getConf.set("cmlib.model", s"$output/model")
    val trained = job("train", classOf[CountMapper], input, s"$output/model", reducers = 2)
    if (trained && job("classify", classOf[ClassifyMapper], input, s"$output/classes", reducers = 1)) 0 else 1
  }

  private def job(name: String, mapper: Class[_ <: Mapper[LongWritable, Text, Text, LongWritable]], input: String, output: String, reducers: Int): Boolean = {
    val job = Job.getInstance(getConf, name)
    job.setJarByClass(getClass)
    job.setMapperClass(mapper)
    job.setCombinerClass(classOf[SumReducer])
    job.setReducerClass(classOf[SumReducer])
    job.setNumReduceTasks(reducers)
    job.setOutputKeyClass(classOf[Text])
    job.setOutputValueClass(classOf[LongWritable])
    FileInputFormat.addInputPath(job, new Path(input))
    FileOutputFormat.setOutputPath(job, new Path(output))
    job.waitForCompletion(false)
  }
}
