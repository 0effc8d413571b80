package cmlib

import org.apache.spark.graphx.{Edge, Graph}
import org.apache.spark.ml.evaluation.RegressionEvaluator
import org.apache.spark.ml.recommendation.ALS
import org.apache.spark.sql.SparkSession

/** CloudSuite's two programs on Spark: PROGRAM OUTPUT INPUT. */
object CloudSuite {
  def main(arguments: Array[String]): Unit = {
    val Array(program, output, input) = arguments
    val spark = SparkSession.builder.getOrCreate()
    program match {
      case "graphanalytics" => graphAnalytics(spark, input, output)
      case "inmemoryanalytics" => inMemoryAnalytics(spark, input)
    }
    spark.stop()
  }

  private def graphAnalytics(spark: SparkSession, input: String, output: String): Unit = {
    val edges = spark.sparkContext.textFile(input).flatMap { line =>
      val numbers = line.split(" ").map(_.toLong)
      numbers.tail.map(Edge(numbers.head, _, 1))
    }
    Graph.fromEdges(edges, 1).staticPageRank(10).vertices.saveAsTextFile(output)
  }

  private def inMemoryAnalytics(spark: SparkSession, input: String): Unit = {
    val ratings = spark.read.schema("user int, item int, rating float").csv(input).cache()
    val Array(training, test) = ratings.randomSplit(Array(0.9, 0.1), seed = 1)
    val model = new ALS().setRank(20).setMaxIter(15).setRegParam(0.1).setSeed(1).setColdStartStrategy("drop").fit(training)
    val error = new RegressionEvaluator().setMetricName("rmse").setLabelCol("rating").evaluate(model.transform(test))
    println(s"rmse $error")
  }
}
