package cmlib

import org.apache.spark.ml.classification.NaiveBayes
import org.apache.spark.ml.clustering.KMeans
import org.apache.spark.ml.feature.{HashingTF, IDF, Tokenizer}
import org.apache.spark.sql.{DataFrame, SparkSession}

/** The eight programs, each as HiBench defines it: PROGRAM OUTPUT INPUT... */
object HiBench {
  def main(arguments: Array[String]): Unit = {
    val program +: output +: inputs = arguments.toSeq
    val spark = SparkSession.builder.getOrCreate()
    program match {
      case "wordcount" => wordcount(spark, inputs.head, output)
      case "sort" => sort(spark, inputs.head, output)
      case "pagerank" => pagerank(spark, inputs.head, output, iterations = 8)
      case "aggregation" => aggregation(spark, inputs.head, output)
      case "join" => join(spark, inputs(0), inputs(1), output)
      case "scan" => scan(spark, inputs.head, output)
      case "bayes" => bayes(spark, inputs.head)
      case "kmeans" => kmeans(spark, inputs.head)
    }
    spark.stop()
  }

  private def wordcount(spark: SparkSession, input: String, output: String): Unit =
    spark.sparkContext.textFile(input).flatMap(_.split(" ")).map((_, 1)).reduceByKey(_ + _).saveAsTextFile(output)

  private def sort(spark: SparkSession, input: String, output: String): Unit =
    spark.sparkContext.textFile(input).map((_, 1)).sortByKey().map(_._1).saveAsTextFile(output)

  private def pagerank(spark: SparkSession, input: String, output: String, iterations: Int): Unit = {
    val links = spark.sparkContext.textFile(input).map { line =>
      val numbers = line.split(" ").map(_.toInt)
      (numbers.head, numbers.tail)
    }.partitionBy(new org.apache.spark.HashPartitioner(spark.sparkContext.defaultParallelism)).cache()
    var ranks = links.mapValues(_ => 1.0)
    for (_ <- 1 to iterations) {
      val shares = links.join(ranks).values.flatMap { case (targets, rank) => targets.map((_, rank / targets.length)) }
      ranks = shares.reduceByKey(_ + _).mapValues(0.15 + 0.85 * _)
    }
    ranks.saveAsTextFile(output)
  }

  private def visits(spark: SparkSession, input: String): DataFrame =
    spark.read.schema("sourceIP string, destURL string, visitDate date, adRevenue double, userAgent string, " +
      "countryCode string, searchWord string, duration int").csv(input)

  private def aggregation(spark: SparkSession, input: String, output: String): Unit = {
    visits(spark, input).createOrReplaceTempView("uservisits")
    spark.sql("SELECT sourceIP, SUM(adRevenue) FROM uservisits GROUP BY sourceIP").write.csv(output)
  }

  private def join(spark: SparkSession, input: String, rankings: String, output: String): Unit = {
    visits(spark, input).createOrReplaceTempView("uservisits")
    spark.read.schema("pageURL string, pageRank int, avgDuration int").csv(rankings).createOrReplaceTempView("rankings")
    spark.sql("SELECT sourceIP, avg(pageRank), sum(adRevenue) AS totalRevenue FROM rankings R JOIN " +
      "(SELECT sourceIP, destURL, adRevenue FROM uservisits WHERE visitDate BETWEEN '1999-01-01' AND '2000-01-01') V " +
      "ON R.pageURL = V.destURL GROUP BY sourceIP ORDER BY totalRevenue DESC").write.csv(output)
  }

  private def scan(spark: SparkSession, input: String, output: String): Unit = {
    visits(spark, input).createOrReplaceTempView("uservisits")
    spark.sql("SELECT * FROM uservisits").write.csv(output)
  }

  private def bayes(spark: SparkSession, input: String): Unit = {
    import spark.implicits._
    val documents = spark.read.textFile(input).map { line =>
      val Array(label, text) = line.split("\t")
      (label.toDouble, text)
    }.toDF("label", "text")
    val words = new Tokenizer().setInputCol("text").setOutputCol("words").transform(documents)
    val counts = new HashingTF().setInputCol("words").setOutputCol("counts").setNumFeatures(1 << 17).transform(words).cache()
    val weighted = new IDF().setInputCol("counts").setOutputCol("features").fit(counts).transform(counts)
    val Array(training, test) = weighted.randomSplit(Array(0.8, 0.2), seed = 1)
    val predicted = new NaiveBayes().fit(training).transform(test)
    println(s"accuracy ${predicted.filter("label = prediction").count() / predicted.count().toDouble}")
  }

  private def kmeans(spark: SparkSession, input: String): Unit = {
    val points = spark.read.parquet(input).cache()
    val model = new KMeans().setK(10).setSeed(1).setMaxIter(20).setTol(0).fit(points)
    println(s"cost ${model.summary.trainingCost}")
  }
}
